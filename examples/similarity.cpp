/* SPDX-License-Identifier: MIT
 * Shows how to use aoe in C++: prints the cosine of every pair of the texts that are passed as arguments.
 *
 *     build/examples/similarity_cpp 'A plane is taking off.' 'An aircraft departs.' 'She cooks rice.'
 */
#include <aoe.h>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

// Owning pointers to the objects of the library: they are destroyed in the reverse order of their creation.
template <typename T, void (*destroy)(T *)> struct deleter {
    void operator()(T *object) const {
        destroy(object);
    }
};
using context = std::unique_ptr<aoe_context, deleter<aoe_context, aoe_context_destroy>>;
using model = std::unique_ptr<aoe_model, deleter<aoe_model, aoe_model_close>>;
using embedder = std::unique_ptr<aoe_embedder, deleter<aoe_embedder, aoe_embedder_destroy>>;

template <typename Owner, typename Create> static Owner make(Create create) {
    aoe_error err;
    typename Owner::pointer object = nullptr;
    if (create(&object, &err))
        throw std::runtime_error(err.message);
    return Owner(object);
}

int main(int argc, char **argv) try {
    auto ctx = make<context>([](aoe_context **c, aoe_error *e) { return aoe_context_create(c, nullptr, e); });
    auto m = make<model>([&](aoe_model **o, aoe_error *e) { return aoe_model_open(o, ctx.get(), nullptr, nullptr, e); });
    auto e = make<embedder>([&](aoe_embedder **o, aoe_error *err) { return aoe_embedder_create(o, m.get(), nullptr, err); });
    std::vector<aoe_text> texts;
    for (int i = 1; i < argc; i++)
        texts.push_back(aoe_text_of(argv[i]));
    const std::size_t dims = aoe_model_dims(m.get());
    std::vector<float> v(texts.size() * dims);
    aoe_error err;
    if (aoe_embed(e.get(), texts.data(), texts.size(), v.data(), nullptr, &err))
        throw std::runtime_error(err.message);
    for (std::size_t i = 0; i < texts.size(); i++)
        for (std::size_t j = i + 1; j < texts.size(); j++)
            std::printf("%.4f  %s | %s\n", aoe_cosine(&v[i * dims], &v[j * dims], dims), texts[i].data, texts[j].data);
} catch (const std::exception &error) {
    std::fprintf(stderr, "similarity: %s\n", error.what());
    return 1;
}

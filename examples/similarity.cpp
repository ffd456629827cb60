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

// An owning pointer to an embedder, which is destroyed with it.
struct destroy {
    void operator()(aoe_embedder *e) const {
        aoe_embedder_destroy(e);
    }
};
using embedder = std::unique_ptr<aoe_embedder, destroy>;

static void check(int code, const aoe_error &err) {
    if (code)
        throw std::runtime_error(err.message);
}

int main(int argc, char **argv) try {
    aoe_error err;
    aoe_embedder *opened;
    check(aoe_embedder_open(&opened, nullptr, &err), err);
    const embedder e(opened);
    std::vector<aoe_text> texts;
    for (int i = 1; i < argc; i++)
        texts.push_back(aoe_text_of(argv[i]));
    const std::size_t dims = aoe_embedder_dims(e.get());
    std::vector<float> v(texts.size() * dims);
    check(aoe_embed(e.get(), texts.data(), texts.size(), v.data(), nullptr, &err), err);
    for (std::size_t i = 0; i < texts.size(); i++)
        for (std::size_t j = i + 1; j < texts.size(); j++)
            std::printf("%.4f  %s | %s\n", aoe_cosine(&v[i * dims], &v[j * dims], dims), texts[i].data, texts[j].data);
} catch (const std::exception &error) {
    std::fprintf(stderr, "similarity: %s\n", error.what());
    return 1;
}

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { blasForwardSource, formatFallbackHeader } from "../../src-bun/setup/compiler.ts";

const compiler = Bun.which("g++") ?? Bun.which("clang++");

describe.skipIf(compiler === null)("the native sources, where there is a C++ compiler", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "keepwarm-native-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const run = (...command: readonly string[]): string => {
    const { success, stdout, stderr } = Bun.spawnSync([...command]);
    if (!success) throw new Error(stderr.toString());
    return stdout.toString();
  };

  test("std::format puts values where the braces are, with a library that lacks it and with one that does not", () => {
    const source = `#if __has_include(<format>)
#include <format>
#endif
#include <iostream>
int main() { std::cout << std::format("read {} of {} bytes: {}", 3, size_t{40}, std::string("late")) << std::format("."); }`;
    writeFileSync(join(folder, "format.cpp"), source);
    const program = join(folder, "format");
    run(compiler ?? "", "-std=c++20", "-include", formatFallbackHeader, join(folder, "format.cpp"), "-o", program);
    expect(run(program)).toBe("read 3 of 40 bytes: late.");
  });

  test("the forwarder hands every argument to OpenBLAS in its place, one row as a vector", () => {
    const source = `#include <cstdint>
#include <iostream>
using I = int32_t;
extern "C" void scipy_cblas_sgemm(I o, I ta, I tb, I m, I n, I k, float al, const float* a, I lda, const float* b, I ldb, float be, float* c, I ldc) {
  std::cout << o << ta << tb << m << n << k << al << *a << lda << *b << ldb << be << *c << ldc; }
extern "C" void scipy_cblas_sgemv(I o, I t, I rows, I columns, float al, const float* a, I lda, const float* x, I step, float be, float* y, I) {
  std::cout << "|" << o << "," << t << "," << rows << "," << columns << "," << al << "," << *a << "," << lda << "," << *x << "," << step << "," << be << "," << *y; }
extern "C" void scipy_cblas_dgemm(I, I, I, I, I, I, double, const double*, I, const double*, I, double, double*, I) {}
extern "C" void scipy_cblas_cgemm(I, I, I, I, I, I, const void*, const void*, I, const void*, I, const void*, void*, I) {}
extern "C" void cblas_sgemm(I, I, I, I, I, I, float, const float*, I, const float*, I, float, float*, I);
int main() { float a = 2, b = 4, c = 7; cblas_sgemm(1, 2, 3, 4, 5, 6, 1, &a, 3, &b, 5, 6, &c, 8);
  cblas_sgemm(101, 111, 112, 1, 5, 6, 1, &a, 3, &b, 9, 0, &c, 8);
  cblas_sgemm(101, 112, 111, 1, 5, 6, 1, &a, 3, &b, 9, 0, &c, 8); }`;
    writeFileSync(join(folder, "forward.cpp"), source);
    const [object, program] = [join(folder, "forward.o"), join(folder, "forward")];
    run(compiler ?? "", "-x", "c", "-c", blasForwardSource, "-o", object);
    run(compiler ?? "", join(folder, "forward.cpp"), object, "-o", program);
    expect(run(program)).toBe("12345612345678|101,111,5,6,1,4,9,2,1,0,7|101,112,6,5,1,4,9,2,3,0,7");
  });
});

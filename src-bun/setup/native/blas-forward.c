// libmlx asks for three BLAS functions under their plain names and brings a slow reference BLAS; OpenBLAS of the
// scipy-openblas32 wheel has them under prefixed ones. Linked into libmlxc, which the look-up asks before libmlx's own.
// Integers are 32 bits wide there; the enums of cblas.h are passed as integers.
#include <stdint.h>

typedef int32_t blas_int;

#define GEMM(name, scalar, element)                                                                                \
  extern void scipy_##name(blas_int order, blas_int trans_a, blas_int trans_b, blas_int m, blas_int n, blas_int k, \
                           scalar alpha, const element *a, blas_int lda, const element *b, blas_int ldb,           \
                           scalar beta, element *c, blas_int ldc);                                                 \
  void name(blas_int order, blas_int trans_a, blas_int trans_b, blas_int m, blas_int n, blas_int k, scalar alpha,  \
            const element *a, blas_int lda, const element *b, blas_int ldb, scalar beta, element *c,               \
            blas_int ldc) {                                                                                        \
    scipy_##name(order, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                           \
  }

GEMM(cblas_sgemm, float, float)
GEMM(cblas_dgemm, double, double)
// Complex scalars travel by address.
GEMM(cblas_cgemm, const void *, void)

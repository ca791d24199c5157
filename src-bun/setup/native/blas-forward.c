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

extern void scipy_cblas_sgemv(blas_int order, blas_int trans, blas_int rows, blas_int columns, float alpha,
                              const float *a, blas_int lda, const float *x, blas_int step_x, float beta, float *y,
                              blas_int step_y);
extern void scipy_cblas_sgemm(blas_int order, blas_int trans_a, blas_int trans_b, blas_int m, blas_int n, blas_int k,
                              float alpha, const float *a, blas_int lda, const float *b, blas_int ldb, float beta,
                              float *c, blas_int ldc);

enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

// One row times a matrix is what decoding does: bound by reading the weights, and a quarter faster as a vector product,
// which packs nothing.
void cblas_sgemm(blas_int order, blas_int trans_a, blas_int trans_b, blas_int m, blas_int n, blas_int k, float alpha,
                 const float *a, blas_int lda, const float *b, blas_int ldb, float beta, float *c, blas_int ldc) {
  if (order != ROW_MAJOR || m != 1) {
    scipy_cblas_sgemm(order, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    return;
  }
  const blas_int step_a = trans_a == NO_TRANS ? 1 : lda;
  if (trans_b == NO_TRANS) {
    scipy_cblas_sgemv(order, TRANS, k, n, alpha, b, ldb, a, step_a, beta, c, 1);
  } else {
    scipy_cblas_sgemv(order, NO_TRANS, n, k, alpha, b, ldb, a, step_a, beta, c, 1);
  }
}

GEMM(cblas_dgemm, double, double)
// Complex scalars travel by address.
GEMM(cblas_cgemm, const void *, void)

// Every function of mlx-c 0.7.0 that Keepwarm calls, as data. The order of arguments is that of the C headers.
// Handles (mlx_array, mlx_stream, …) are structs of one pointer: by value they travel as a pointer does.
// mlx_optional_* is eight bytes in one register: the value below, 1 << 32 when it is present.
import type { FFIFunction } from "bun:ffi";

const handle = "ptr" as const;
const out = "ptr" as const;
const stream = "ptr" as const;
const optional = "u64" as const;
const status = { returns: "i32" } as const;

export const mlxSymbols = {
  mlx_version: { args: [out], ...status },
  mlx_set_error_handler: { args: ["ptr", "ptr", "ptr"], returns: "void" },

  mlx_string_data: { args: [handle], returns: "ptr" },
  mlx_string_free: { args: [handle], ...status },

  mlx_device_new_type: { args: ["i32", "i32"], returns: handle },
  mlx_device_free: { args: [handle], ...status },
  mlx_set_default_device: { args: [handle], ...status },
  mlx_metal_is_available: { args: [out], ...status },
  mlx_default_cpu_stream_new: { args: [], returns: handle },
  mlx_default_gpu_stream_new: { args: [], returns: handle },
  mlx_stream_free: { args: [handle], ...status },
  mlx_synchronize: { args: [stream], ...status },

  mlx_clear_cache: { args: [], ...status },
  mlx_get_active_memory: { args: [out], ...status },
  mlx_get_cache_memory: { args: [out], ...status },
  mlx_get_peak_memory: { args: [out], ...status },
  mlx_reset_peak_memory: { args: [], ...status },
  mlx_set_cache_limit: { args: [out, "u64"], ...status },

  mlx_array_new_data: { args: ["ptr", "ptr", "i32", "i32"], returns: handle },
  mlx_array_new_float32: { args: ["f32"], returns: handle },
  mlx_array_new_int: { args: ["i32"], returns: handle },
  mlx_array_free: { args: [handle], ...status },
  mlx_array_nbytes: { args: [handle], returns: "u64" },
  mlx_array_ndim: { args: [handle], returns: "u64" },
  mlx_array_shape: { args: [handle], returns: "ptr" },
  mlx_array_strides: { args: [handle], returns: "ptr" },
  mlx_array_dtype: { args: [handle], returns: "i32" },
  mlx_array_item_uint32: { args: [out, handle], ...status },
  // Whatever the element type: the address is the same.
  mlx_array_data_uint8: { args: [handle], returns: "ptr" },

  mlx_vector_array_new_data: { args: ["ptr", "u64"], returns: handle },
  mlx_vector_array_free: { args: [handle], ...status },
  mlx_eval: { args: [handle], ...status },

  mlx_zeros: { args: [out, "ptr", "u64", "i32", stream], ...status },
  mlx_astype: { args: [out, handle, "i32", stream], ...status },
  mlx_view: { args: [out, handle, "i32", stream], ...status },
  mlx_contiguous: { args: [out, handle, "bool", stream], ...status },
  mlx_reshape: { args: [out, handle, "ptr", "u64", stream], ...status },
  mlx_transpose_axes: { args: [out, handle, "ptr", "u64", stream], ...status },
  mlx_slice: { args: [out, handle, "ptr", "u64", "ptr", "u64", "ptr", "u64", stream], ...status },
  mlx_slice_update: { args: [out, handle, handle, "ptr", "u64", "ptr", "u64", "ptr", "u64", stream], ...status },
  mlx_take_axis: { args: [out, handle, handle, "i32", stream], ...status },
  mlx_add: { args: [out, handle, handle, stream], ...status },
  mlx_subtract: { args: [out, handle, handle, stream], ...status },
  mlx_multiply: { args: [out, handle, handle, stream], ...status },
  mlx_divide: { args: [out, handle, handle, stream], ...status },
  mlx_minimum: { args: [out, handle, handle, stream], ...status },
  mlx_maximum: { args: [out, handle, handle, stream], ...status },
  mlx_left_shift: { args: [out, handle, handle, stream], ...status },
  mlx_max_axis: { args: [out, handle, "i32", "bool", stream], ...status },
  mlx_sum_axis: { args: [out, handle, "i32", "bool", stream], ...status },
  mlx_concatenate_axis: { args: [out, handle, "i32", stream], ...status },
  mlx_matmul: { args: [out, handle, handle, stream], ...status },
  mlx_sigmoid: { args: [out, handle, stream], ...status },
  mlx_argmax_axis: { args: [out, handle, "i32", "bool", stream], ...status },
  mlx_dequantize: {
    args: [out, handle, handle, handle, optional, optional, "cstring", handle, optional, stream],
    ...status,
  },
  mlx_quantized_matmul: {
    args: [out, handle, handle, handle, handle, "bool", optional, optional, "cstring", stream],
    ...status,
  },

  mlx_fast_rms_norm: { args: [out, handle, handle, "f32", stream], ...status },
  mlx_fast_rope: { args: [out, handle, "i32", "bool", optional, "f32", "i32", handle, stream], ...status },
  mlx_fast_scaled_dot_product_attention: {
    args: [out, handle, handle, handle, "f32", "cstring", handle, handle, "bool", stream],
    ...status,
  },

  mlx_random_key: { args: [out, "u64"], ...status },
  mlx_random_categorical: { args: [out, handle, "i32", handle, stream], ...status },
} as const satisfies Record<string, FFIFunction>;

export type MlxSymbol = keyof typeof mlxSymbols;

/** MLX's element types that Keepwarm handles: the number mlx-c gives them and their size in bytes. */
export const DTYPES = {
  uint8: { id: 1, itemSize: 1 },
  uint16: { id: 2, itemSize: 2 },
  uint32: { id: 3, itemSize: 4 },
  int32: { id: 7, itemSize: 4 },
  float16: { id: 9, itemSize: 2 },
  float32: { id: 10, itemSize: 4 },
  bfloat16: { id: 12, itemSize: 2 },
} as const;

export type Dtype = keyof typeof DTYPES;

const byId = new Map<number, Dtype>(Object.entries(DTYPES).map(([name, { id }]) => [id, name as Dtype]));

export const dtypeOf = (id: number): Dtype => {
  const dtype = byId.get(id);
  if (dtype === undefined) throw new RangeError(`MLX element type ${id} is not one that Keepwarm handles`);
  return dtype;
};

/** How many leading tokens two sequences share. */
export const commonPrefix = (a: Uint32Array, b: Uint32Array): number => {
  const limit = Math.min(a.length, b.length);
  let length = 0;
  while (length < limit && a[length] === b[length]) length++;
  return length;
};

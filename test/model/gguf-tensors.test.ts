import { describe, expect, test } from "bun:test";
import { findTensorFault, type GgufHeader } from "../../src-bun/model/gguf-tensors.ts";

const header = (shape: bigint[], dtype: number, offset = 0n): GgufHeader => ({
  tensorDataOffset: 100n,
  tensorInfos: [{ name: "a", shape, dtype, offset }],
});

describe("tensors of a GGUF", () => {
  test("may end where the file ends, and no byte later", () => {
    const float32 = header([4n, 2n], 0);
    expect(findTensorFault(float32, 132)).toBeNull();
    expect(findTensorFault(float32, 131)?.kind).toBe("damaged");
    expect(findTensorFault(header([64n], 3), 140)).toBeNull();
    expect(findTensorFault(header([64n], 3), 139)?.why).toContain("ends at byte 140");
  });

  test("sizes that would wrap in 64 bits are still too large", () => {
    expect(findTensorFault(header([2n ** 63n, 2n], 0), 1000)?.kind).toBe("damaged");
    expect(findTensorFault(header([1n], 0, 2n ** 64n - 90n), 1000)?.kind).toBe("damaged");
  });

  test("half a block and an unknown type are refused, the type by its number", () => {
    expect(findTensorFault(header([33n], 2), 10_000)?.kind).toBe("damaged");
    expect(findTensorFault(header([256n], 12), 10_000)).toMatchObject({ kind: "unsupported" });
  });
});

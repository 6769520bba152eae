import fc from "fast-check";

/**
 * Any UTF-16 at all, lone surrogates included, half of it Latin-1. The strings of fast-check's unit `binary` take seconds
 * to prepare, once for each process.
 */
export function anyText(constraints: fc.ArrayConstraints = {}): fc.Arbitrary<string> {
  return fc.array(fc.oneof(fc.nat(0xff), fc.nat(0xffff)), constraints).map((units) => String.fromCharCode(...units));
}

import fc from "fast-check";

/**
 * Arbitrary text: Latin-1, other UTF-16 code units including lone surrogates, and supplementary characters.
 * fast-check's unit `binary` takes seconds to set up in each process.
 */
export function anyText(constraints: fc.ArrayConstraints = {}): fc.Arbitrary<string> {
  const characters = fc.oneof(fc.nat(0xff), fc.nat(0xffff), fc.integer({ min: 0x10000, max: 0x10ffff }));
  return fc.array(characters, constraints).map((points) => String.fromCodePoint(...points));
}

import fc from "fast-check";

/**
 * Any text at all: Latin-1, the other UTF-16 units, including lone surrogates, and everything beyond them. fast-check's
 * unit `binary` takes seconds to prepare, once in each process.
 */
export function anyText(constraints: fc.ArrayConstraints = {}): fc.Arbitrary<string> {
  const characters = fc.oneof(fc.nat(0xff), fc.nat(0xffff), fc.integer({ min: 0x10000, max: 0x10ffff }));
  return fc.array(characters, constraints).map((points) => String.fromCodePoint(...points));
}

import fc from "fast-check";

/**
 * Any text at all: Latin-1, the rest of UTF-16's units, lone surrogates included, and what lies beyond them. The strings of
 * fast-check's unit `binary` take seconds to prepare, once for each process.
 */
export function anyText(constraints: fc.ArrayConstraints = {}): fc.Arbitrary<string> {
  const characters = fc.oneof(fc.nat(0xff), fc.nat(0xffff), fc.integer({ min: 0x10000, max: 0x10ffff }));
  return fc.array(characters, constraints).map((points) => String.fromCodePoint(...points));
}

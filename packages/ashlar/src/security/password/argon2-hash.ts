/** The three variants of Argon2 (RFC 9106). */
export type Argon2Variant = "argon2d" | "argon2i" | "argon2id";

/** The cost of an Argon2 hash. */
export interface Argon2Parameters {
  readonly variant: Argon2Variant;
  /** Memory in KiB. */
  readonly memory: number;
  /** The number of passes over the memory. */
  readonly passes: number;
  /** The number of lanes. */
  readonly parallelism: number;
  /** The length of the result in bytes. */
  readonly tagBytes: number;
}

/** The default parameters: the minimum that OWASP recommends. */
export const DEFAULT_PARAMETERS: Argon2Parameters = Object.freeze({
  variant: "argon2id",
  memory: 19_456,
  passes: 2,
  parallelism: 1,
  tagBytes: 32,
});
export const SALT_BYTES = 16;

/** A parsed Argon2 hash. */
export interface Argon2Hash {
  readonly parameters: Argon2Parameters;
  readonly salt: Buffer;
  readonly tag: Buffer;
}

/** The contents of a PHC string, with its bytes still encoded. */
export interface EncodedHash {
  readonly parameters: Argon2Parameters;
  readonly saltBytes: number;
  /** The salt in base64. */
  readonly salt: string;
  readonly tag: string;
}

/**
 * The limits for verification. A hash contains its own parameters. Without limits, an attacker who can write one row of
 * a table could make each login use all memory, or take all day. The limits, 256 MiB, 16 passes and 16 lanes, include
 * all parameters that are in use.
 */
export const MAX_MEMORY = 262_144;
export const MAX_PASSES = 16;
export const MAX_PARALLELISM = 16;
const MIN_SALT_BYTES = 8;
const MAX_SALT_BYTES = 64;
/** A planted tag of only a few bytes would match many passwords. */
const MIN_TAG_BYTES = 16;
const MAX_TAG_BYTES = 64;
/** The maximum length of a hash, in characters. */
export const MAX_LENGTH = 256;

const PHC =
  /^\$(argon2d|argon2i|argon2id)\$v=19\$m=([1-9]\d{0,5}),t=([1-9]\d?),p=([1-9]\d?)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/**
 * The bits in the last character that exceed the last byte, by the text's length modulo 4. A remainder of 1 is
 * impossible.
 */
const SPARE_BITS = [0, undefined, 0b1111, 0b11];

/** Base64 without padding, as in PHC strings. */
function encode(bytes: Buffer): string {
  const padded = bytes.toString("base64");
  const end = padded.indexOf("=");
  return end === -1 ? padded : padded.slice(0, end);
}

/** Returns how many bytes a base64 text decodes to; 0 if it is not the canonical encoding. */
function decodedLength(text: string): number {
  const spareBits = SPARE_BITS[text.length % 4];
  if (spareBits === undefined || (ALPHABET.indexOf(text.at(-1)!) & spareBits) !== 0) return 0;
  return Math.floor((text.length * 3) / 4);
}

/** Formats the end of a PHC string, the salt and the tag. */
export function formatSaltAndTag(salt: Buffer, tag: Buffer): string {
  return `${encode(salt)}$${encode(tag)}`;
}

/**
 * Determines the lengths of the salt and the tag in a PHC string.
 *
 * @returns their lengths in bytes; `null` if either is not canonical base64, the salt is not 8 to 64 bytes, or the tag is not
 *   16 to 64
 */
export function measureSaltAndTag(salt: string, tag: string): { saltBytes: number; tagBytes: number } | null {
  const saltBytes = decodedLength(salt);
  if (saltBytes < MIN_SALT_BYTES || saltBytes > MAX_SALT_BYTES) return null;
  const tagBytes = decodedLength(tag);
  if (tagBytes < MIN_TAG_BYTES || tagBytes > MAX_TAG_BYTES) return null;
  return { saltBytes, tagBytes };
}

/** Formats an Argon2 hash (version 1.3) as a PHC string: `$argon2id$v=19$m=19456,t=2,p=1$salt$tag`. */
export function formatPhc({ parameters, salt, tag }: Argon2Hash): string {
  const { variant, memory, passes, parallelism } = parameters;
  return `$${variant}$v=19$m=${memory},t=${passes},p=${parallelism}$${formatSaltAndTag(salt, tag)}`;
}

/**
 * Reads the contents of an Argon2 PHC string: version 1.3, parameters in the order `m`, `t`, `p`, canonical base64,
 * which it doesn't decode.
 *
 * @returns `null` if it is anything else, or its parameters exceed the limits for verification: 256 MiB, 16 passes, 16
 * lanes, a salt of 8 to 64 bytes, a tag of 16 to 64 bytes
 */
export function readPhc(text: string): EncodedHash | null {
  if (text.length > MAX_LENGTH) return null;
  const match = PHC.exec(text);
  if (match === null) return null;
  const [, variant, m, t, p, salt, tag] = match as unknown as [string, Argon2Variant, ...string[]];
  const memory = Number(m);
  const passes = Number(t);
  const parallelism = Number(p);
  if (memory > MAX_MEMORY || passes > MAX_PASSES || parallelism > MAX_PARALLELISM) return null;
  // RFC 9106 §3.1: at least 8 KiB for each lane.
  if (memory < 8 * parallelism) return null;
  const lengths = measureSaltAndTag(salt!, tag!);
  if (lengths === null) return null;
  const { saltBytes, tagBytes } = lengths;
  return { parameters: { variant, memory, passes, parallelism, tagBytes }, saltBytes, salt: salt!, tag: tag! };
}

/** Parses an Argon2 PHC string that {@link readPhc} accepts; returns `null` for any other. */
export function parsePhc(text: string): Argon2Hash | null {
  const read = readPhc(text);
  if (read === null) return null;
  const { parameters, salt, tag } = read;
  return { parameters, salt: Buffer.from(salt, "base64"), tag: Buffer.from(tag, "base64") };
}

const NAMES = Object.keys(DEFAULT_PARAMETERS) as (keyof Argon2Parameters)[];

/**
 * Reports whether a hash was created in any way other than with these parameters, for example with other parameters, or
 * by bcrypt.
 */
export function differsFrom(parameters: Argon2Parameters, hash: string): boolean {
  const made = readPhc(hash);
  if (made === null || made.saltBytes < SALT_BYTES) return true;
  return NAMES.some((name) => made.parameters[name] !== parameters[name]);
}

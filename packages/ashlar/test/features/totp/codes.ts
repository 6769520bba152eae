import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

const PERIOD_SECONDS = 30;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** A new secret, in the form in which users type it: 160 bits in base32. */
export function newSecret(): string {
  return [...randomBytes(32)].map((byte) => ALPHABET[byte % 32]).join("");
}

/** The 30 seconds that it is now, counted from 1970. */
export function currentPeriod(): number {
  return Math.floor(Date.now() / 1000 / PERIOD_SECONDS);
}

/** The period that a code belongs to: the current one, or those before or after; `null` if it is none of these. */
export function periodOf(secret: string, code: string): number | null {
  if (!/^\d{6}$/.test(code)) return null;
  const now = currentPeriod();
  const isEqual = (period: number) => timingSafeEqual(Buffer.from(codeOf(secret, period)), Buffer.from(code));
  return [now - 1, now, now + 1].filter(isEqual)[0] ?? null;
}

/** The code of a period (RFC 4226 §5.3). */
export function codeOf(secret: string, period: number): string {
  const bits = Array.from(secret, (letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(period));
  const hash = createHmac("sha1", key).update(counter).digest();
  const number = hash.readUInt32BE(hash.readUInt8(hash.length - 1) & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, "0");
}

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { nowInSeconds } from "../../support/index.ts";
import { fromBase32, toBase32 } from "./base32.ts";

/** How long a code is shown. */
export const PERIOD_SECONDS = 30;
export const DIGITS = 6;
/** 160 bits (RFC 4226 §4, R6). */
const SECRET_BYTES = 20;

/** A new secret, in base32: the form in which users type it into their app. */
export function newSecret(): string {
  return toBase32(randomBytes(SECRET_BYTES));
}

/** The period that it is now, counted from 1970. */
export function currentPeriod(): number {
  return Math.floor(nowInSeconds() / PERIOD_SECONDS);
}

/** The code of a time, in seconds since 1970. */
export function codeOfTime(secret: string, seconds: number): string {
  return codeOf(secret, Math.floor(seconds / PERIOD_SECONDS));
}

/** The code of a period (RFC 4226 §5.3, with the counter of RFC 6238 §4.2). */
export function codeOf(secret: string, period: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(period));
  const hash = createHmac("sha1", fromBase32(secret)).update(counter).digest();
  const number = hash.readUInt32BE(hash.readUInt8(hash.length - 1) & 15) & 0x7fff_ffff;
  return String(number % 10 ** DIGITS).padStart(DIGITS, "0");
}

/** Reports whether a code is that of a period, in constant time. */
export function isCodeOf(secret: string, period: number, code: string): boolean {
  return timingSafeEqual(Buffer.from(codeOf(secret, period)), Buffer.from(code));
}

/**
 * The period that a code belongs to: the current one, the one before, or the one after, because clocks differ (RFC 6238 §5.2).
 * The latest one counts, if several have the same code.
 *
 * @param code as {@link normalized} returns it
 * @returns `null` if it belongs to none of them
 */
export function periodOf(secret: string, code: string): number | null {
  const now = currentPeriod();
  const matching = [now + 1, now, now - 1].filter((period) => isCodeOf(secret, period, code));
  return matching[0] ?? null;
}

/** A code as it was typed, without spaces; `null` if it can't be one. */
export function normalized(code: string): string | null {
  const digits = code.replaceAll(/\s/g, "");
  return /^\d{6}$/.test(digits) ? digits : null;
}

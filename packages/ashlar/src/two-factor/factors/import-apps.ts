import { asAuthenticatable } from "../../auth/index.ts";
import type { AuthenticatorImport } from "../../authenticators/index.ts";
import type { TwoFactorService } from "../two-factor.ts";

/** 80 bits, which older systems have. */
const SHORTEST_SECRET = 16;
const SHORTEST_CODE = 16;
/** The defaults of every app, and the only parameters that are supported. */
const PARAMETERS: Readonly<Record<string, unknown>> = { algorithm: "SHA1", digits: 6, period: 30 };

/** Stores apps of another system, with the recovery codes of their users: `{ secret, recoveryCodes }`. */
export function importOfApps(service: () => TwoFactorService): AuthenticatorImport {
  return async (user, row) => {
    const problem = problemOf(row);
    if (problem !== null) return { status: "refused", note: problem };
    const { totp, recoveryCodes } = service();
    const owner = asAuthenticatable(user);
    const stored = await totp.import(owner, secretFrom(row.secret)!);
    if (stored === "present") return { status: "present" };
    if (stored === "taken") return { status: "refused", note: "the user has set up another app." };
    const codes = codesFrom(row.recoveryCodes)!;
    const kept = codes.filter((code) => lettersOf(code).length >= SHORTEST_CODE);
    await recoveryCodes.store(owner, [...new Set(kept.map(lettersOf))]);
    const left = codes.length - kept.length;
    if (left === 0) return { status: "stored" };
    return {
      status: "stored",
      note: `${left} recovery codes are shorter than 16 characters. The user needs new ones.`,
    };
  };
}

function problemOf(row: Readonly<Record<string, unknown>>): string | null {
  for (const [name, only] of Object.entries(PARAMETERS)) {
    const value = row[name];
    if (value !== undefined && value !== null && value !== only)
      return `codes with ${name} ${String(value)} can't be moved.`;
  }
  if (secretFrom(row.secret) === null) return '"secret" must be 16 letters of base32 or more.';
  return codesFrom(row.recoveryCodes) === null ? '"recoveryCodes" must be a list of texts.' : null;
}

/** In the form in which secrets are kept. */
function secretFrom(input: unknown): string | null {
  if (typeof input !== "string") return null;
  const secret = input.replaceAll(/[\s-]/g, "").replace(/=+$/, "").toUpperCase();
  return /^[A-Z2-7]+$/.test(secret) && secret.length >= SHORTEST_SECRET ? secret : null;
}

function lettersOf(code: string): string {
  return code.toLowerCase().replaceAll(/[^a-z\d]/g, "");
}

function codesFrom(input: unknown): readonly string[] | null {
  if (input === undefined || input === null) return [];
  return Array.isArray(input) && input.every((code) => typeof code === "string") ? input : null;
}

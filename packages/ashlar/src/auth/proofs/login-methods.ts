/** A proof by which a user has proved who they are, and when. */
export interface LoginMethod {
  /** The name of the proof, or of the step that was passed by its own proof: `password`, `passkey`, `totp`. */
  readonly by: string;
  readonly at: Date;
  /** The factors it satisfies, as values of RFC 8176. */
  readonly amr: readonly string[];
}

/** The proof that a login began with, and its time in milliseconds since 1970, in a form that a session can store. */
export interface GivenProof {
  readonly by: string;
  readonly amr: readonly string[];
  readonly at: number;
}

/** A step that a login has passed by a proof, and when, in milliseconds since 1970. */
export interface PassedStep {
  readonly name: string;
  readonly at: number;
  /** The proof that it was passed by, if that isn't the step's own. */
  readonly by?: GivenFactor;
}

/** A proof given for a step, and the factors that it satisfied, as values of RFC 8176. */
export type GivenFactor = Pick<LoginMethod, "by" | "amr">;

/**
 * The factor that a method of RFC 8176 verifies: something that the user knows, has, or is. The other methods don't
 * represent a factor: they mean that someone is present, or that another site has asked.
 */
const FACTORS: Readonly<Record<string, "knowledge" | "possession" | "inherence">> = {
  // Someone who reads the mails can set a new password, so a mail and a password are not two factors.
  ...{ email: "knowledge", kba: "knowledge", pin: "knowledge", pwd: "knowledge" },
  ...{ hwk: "possession", otp: "possession", pop: "possession", sc: "possession", sms: "possession" },
  ...{ swk: "possession", tel: "possession" },
  ...{ face: "inherence", fpt: "inherence", iris: "inherence", retina: "inherence", vbm: "inherence" },
};

/** The methods that proofs satisfy together, including `mfa` if they verify different factors (RFC 8176 §2). */
export function amrOf(methods: readonly Pick<LoginMethod, "amr">[]): readonly string[] {
  const all = new Set(methods.flatMap(({ amr }) => amr));
  const factors = new Set([...all].flatMap((one) => (Object.hasOwn(FACTORS, one) ? [FACTORS[one]] : [])));
  if (factors.size > 1) all.add("mfa");
  return [...all];
}

/** The proofs of a login: the first one, and those of the steps that it has passed by their own proof. */
export function methodsOf(
  proof: GivenProof | null,
  steps: readonly { readonly name: string; readonly amr?: readonly string[] }[],
  passed: readonly PassedStep[],
): readonly LoginMethod[] {
  const later = passed.map(({ name, at, by }) => {
    const own = { by: name, amr: steps.find((step) => step.name === name)?.amr ?? [] };
    return { ...(by ?? own), at: new Date(at) };
  });
  return proof === null ? later : [{ ...proof, at: new Date(proof.at) }, ...later];
}

/** Adds proofs to a login's proofs, each with its latest time. */
export function withMethods(before: readonly LoginMethod[], more: readonly LoginMethod[]): readonly LoginMethod[] {
  return [...before.filter(({ by }) => !more.some((one) => one.by === by)), ...more];
}

/** Methods as a column has them; `null` if there aren't any. */
export function methodsColumn(methods: readonly LoginMethod[]): string | null {
  if (methods.length === 0) return null;
  return JSON.stringify(methods.map(({ by, at, amr }) => [by, at.getTime(), amr]));
}

/** Parses methods from a column; empty if the column is. */
export function methodsFrom(column: unknown): readonly LoginMethod[] {
  if (typeof column !== "string") return [];
  const stored = JSON.parse(column) as readonly (readonly [string, number, readonly string[]])[];
  return stored.map(([by, at, amr]) => ({ by, at: new Date(at), amr }));
}

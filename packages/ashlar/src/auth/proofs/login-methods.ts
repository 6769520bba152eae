import { currentDate } from "../../support/index.ts";

/** A proof by which a user has proved who they are, and when. */
export interface LoginMethod {
  /** The name of the proof, or of the step that was passed by its own proof: `password`, `passkey`, `totp`. */
  readonly by: string;
  readonly at: Date;
  /** What it satisfies, in the values of RFC 8176. */
  readonly amr: readonly string[];
}

/** What a login began with: the name of a proof, and what it satisfies. */
export type FirstProof = Pick<LoginMethod, "by" | "amr">;

/** What a step adds to a login that has passed it by its own proof. */
interface PassedStep {
  readonly name: string;
  readonly amr?: readonly string[];
}

/** What proofs satisfy together: `mfa` too, if there were several factors (RFC 8176 §2). */
export function amrOf(methods: readonly FirstProof[]): readonly string[] {
  const factors = methods.filter(({ amr }) => amr.length > 0);
  const all = new Set(factors.flatMap(({ amr }) => amr));
  if (new Set(factors.map(({ by }) => by)).size > 1) all.add("mfa");
  return [...all];
}

/** What a login has been proved by, now: what it began with, and the steps that it has passed by their own proof. */
export function methodsOf(
  proof: FirstProof | null,
  steps: readonly PassedStep[],
  passed: ReadonlySet<string>,
): readonly LoginMethod[] {
  const at = currentDate();
  const later = steps.filter(({ name }) => passed.has(name)).map(({ name, amr = [] }) => ({ by: name, amr, at }));
  return proof === null ? later : [{ by: proof.by, amr: proof.amr, at }, ...later];
}

/** What a login has been proved by once more was proved, each by its latest time. */
export function withMethods(before: readonly LoginMethod[], more: readonly LoginMethod[]): readonly LoginMethod[] {
  return [...before.filter(({ by }) => !more.some((one) => one.by === by)), ...more];
}

/** Methods as a column has them; `null` if there are none. */
export function methodsColumn(methods: readonly LoginMethod[]): string | null {
  if (methods.length === 0) return null;
  return JSON.stringify(methods.map(({ by, at, amr }) => [by, at.getTime(), amr]));
}

/** Methods from a column; none if it is empty. */
export function methodsFrom(column: unknown): readonly LoginMethod[] {
  if (typeof column !== "string") return [];
  const stored = JSON.parse(column) as readonly (readonly [string, number, readonly string[]])[];
  return stored.map(([by, at, amr]) => ({ by, at: new Date(at), amr }));
}

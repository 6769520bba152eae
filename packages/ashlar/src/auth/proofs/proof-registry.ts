import type { Application } from "../../boot/index.ts";
import { ConfigurationError, now, suggestion } from "../../support/index.ts";
import type { Authenticatable } from "../users/authenticatable.ts";
import { namedSource } from "../users/user-data.ts";
import type { GivenProof } from "./login-methods.ts";
import type { LoginStep } from "./login-step.ts";
import { type FeatureProof, hasProof, isProofFor, type Proof } from "./proof.ts";

declare module "../../kernel/container.ts" {
  interface FrameworkServices {
    /** The ways in which users of the application can prove who they are. */
    proofs: ProofRegistry;
  }
}

/** An additional login step that belongs to a proof. */
export interface ProofStep extends LoginStep {
  readonly proof: Proof;
}

/** The ways in which users of an application can prove who they are. */
export class ProofRegistry {
  readonly #proofs = new Map<string, { readonly proof: Proof; readonly place: string }>();
  #steps: readonly ProofStep[] = [];

  /**
   * @param place the location of the declaration
   * @throws `E_INVALID_CONFIGURATION` if the name is taken
   */
  add(proof: Proof, place: string): void {
    const other = this.#proofs.get(proof.name);
    if (other !== undefined) {
      const problem = `a proof named "${proof.name}" is already declared by ${other.place}.`;
      throw new ConfigurationError(place, problem, "Give one of them another name.");
    }
    this.#proofs.set(proof.name, { proof, place });
    const { name, amr, step } = proof;
    if (step === undefined) return;
    const { page } = step;
    const listing = step.flows === undefined ? proof : step;
    const asked: ProofStep = {
      name,
      amr,
      proof,
      check: (login) => step.check(login),
      ...(page !== undefined && { page }),
      ...(listing.flows !== undefined && { flows: (user, context) => listing.flows!(user, context) }),
    };
    this.#steps = [...this.#steps, asked];
  }

  get all(): readonly Proof[] {
    return [...this.#proofs.values()].map(({ proof }) => proof);
  }

  /** The additional steps that belong to proofs, in the order of their declaration. */
  get steps(): readonly ProofStep[] {
    return this.#steps;
  }

  /** @throws `E_INVALID_CONFIGURATION` if no proof has this name, suggesting similar ones */
  of(name: string): Proof {
    const found = this.#proofs.get(name);
    if (found !== undefined) return found.proof;
    const remedy = `${suggestion(name, this.#proofs.keys())} A feature declares it in its proofs.`;
    throw new ConfigurationError("A login", `no proof is named "${name}".`, remedy.trim());
  }

  /**
   * The proof that a login or a confirmation begins with.
   *
   * @throws `E_INVALID_CONFIGURATION` as {@link of}, or if it is only a further step
   */
  starting(name: string): Proof {
    const proof = this.of(name);
    if (proof.startsLogins === true) return proof;
    const problem = `the proof "${name}" can't begin a login, and confirms nothing: it is only a further step.`;
    throw new ConfigurationError(
      "A login",
      problem,
      "If it is enough alone, declare it with startsLogins: true, or for confirmations with confirms: true.",
    );
  }

  /**
   * A proof that was just given, and that confirms a login.
   *
   * @param amr the factors satisfied this time; default: those that the proof declares
   * @throws `E_INVALID_CONFIGURATION` as {@link of}, or if it confirms nothing alone
   */
  confirming(by: string, amr?: readonly string[]): GivenProof {
    const proof = this.of(by);
    return proof.confirms === true ? { by, amr: amr ?? proof.amr, at: now() } : this.given(by, amr);
  }

  /**
   * A proof that was just given, and that begins a login or a confirmation.
   *
   * @param amr the factors satisfied this time; default: those that the proof declares
   * @throws `E_INVALID_CONFIGURATION` as {@link starting}
   */
  given(by: string, amr?: readonly string[]): GivenProof {
    const proof = this.starting(by);
    return { by, amr: amr ?? proof.amr, at: now() };
  }

  /** The proofs that a user has. */
  async ownedBy(user: Authenticatable): Promise<readonly Proof[]> {
    const own: Proof[] = [];
    for (const proof of this.all) if (await hasProof(proof, user)) own.push(proof);
    return own;
  }
}

/** The proofs that an application's features declare. Each is asked when access ends, and when the account is deleted. */
export function createProofs(application: Application): ProofRegistry {
  const { container } = application;
  const proofs = new ProofRegistry();
  for (const { feature, provider } of application.features) {
    for (const [name, declared] of Object.entries(feature.proofs ?? {})) {
      const proof = namedProof(name, declared(application), provider);
      proofs.add(proof, provider);
      if (proof.data !== undefined) container.make("userData").add(namedSource(name, proof.data), provider);
      if (proof.endAccess === undefined) continue;
      const end = (user: Authenticatable) => (isProofFor(proof, user) ? proof.endAccess!(user) : undefined);
      container.make("access").add({ isBoundToEpoch: false, end });
    }
  }
  return proofs;
}

/** @throws `E_INVALID_CONFIGURATION` if a proof lacks a function that decides about users, or doesn't name its factors */
function checkProof(name: string, { amr, has, flows, step }: FeatureProof, provider: string): void {
  const require = (value: unknown, member: string, form: string): void => {
    if (typeof value === "function") return;
    throw new ConfigurationError(provider, `the proof "${name}" has no function ${member}.`, `Write ${form}.`);
  };
  require(has, "has", "has: (user) => …");
  if (!Array.isArray(amr) || !amr.every((one) => typeof one === "string" && one !== "")) {
    const problem = `amr of the proof "${name}" is not a list of the factors that it satisfies.`;
    throw new ConfigurationError(
      provider,
      problem,
      'Write values of RFC 8176: amr: ["otp"]; or [] if they are not known.',
    );
  }
  if (flows !== undefined) require(flows, "flows", "flows: (user) => [{ id, field }]");
  if (step?.flows !== undefined) require(step.flows, "step.flows", "flows: (user) => [{ id, field }]");
  if (step !== undefined) require(step.check, "step.check", "step: { check: (login) => … }");
}

/**
 * Names a proof, which may be an instance of a class: inherited members count too.
 *
 * @throws the errors of {@link checkProof}
 */
function namedProof(name: string, own: FeatureProof, provider: string): Proof {
  checkProof(name, own, provider);
  const { amr, startsLogins, confirms, page, label, step, users, data, flows } = own;
  return {
    name,
    amr,
    has: (user) => own.has(user),
    ...(startsLogins !== undefined && { startsLogins }),
    ...(confirms !== undefined && { confirms }),
    ...(page !== undefined && { page }),
    ...(label !== undefined && { label }),
    ...(flows !== undefined && { flows: (user, context) => own.flows!(user, context) }),
    ...(own.factors !== undefined && { factors: () => own.factors!() }),
    ...(step !== undefined && { step }),
    ...(users !== undefined && { users }),
    ...(data !== undefined && { data }),
    ...(own.endAccess !== undefined && { endAccess: (user: Authenticatable) => own.endAccess!(user) }),
  };
}

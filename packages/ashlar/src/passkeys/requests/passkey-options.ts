import type { HttpContext } from "../../http/index.ts";
import { CHALLENGE_SECONDS, type ChallengeFacts } from "../ceremony/challenges.ts";
import { ALGORITHMS } from "../ceremony/webauthn.ts";
import type { PasskeyService } from "../passkey-service.ts";
import type { StoredPasskey } from "../stored/passkey-store.ts";

/** Options for `PublicKeyCredential.parseRequestOptionsFromJSON`, without members that are left to the browser. */
export interface RequestOptions {
  readonly challenge: string;
  readonly rpId: string;
  readonly timeout: number;
  readonly userVerification: "required" | "preferred";
  /** The credentials that can be used; empty for any. */
  readonly allowCredentials: readonly CredentialDescriptor[];
}

/** Options for `PublicKeyCredential.parseCreationOptionsFromJSON`. */
export interface CreationOptions {
  readonly challenge: string;
  readonly rp: { readonly id: string; readonly name: string };
  readonly user: { readonly id: string; readonly name: string; readonly displayName: string };
  readonly pubKeyCredParams: readonly { readonly type: "public-key"; readonly alg: number }[];
  readonly timeout: number;
  readonly excludeCredentials: readonly CredentialDescriptor[];
  readonly authenticatorSelection: {
    readonly residentKey: "required";
    readonly requireResidentKey: true;
    readonly userVerification: "required" | "preferred";
  };
  readonly attestation: "none";
}

export interface CredentialDescriptor {
  readonly type: "public-key";
  readonly id: string;
  readonly transports: readonly string[];
}

/** What a browser shows a user by. */
export interface ShownNames {
  readonly name: string;
  readonly displayName: string;
}

/** Makes the options with which a browser asks for a passkey. */
export function requestOptions(
  context: HttpContext,
  { challenges, party }: PasskeyService,
  facts: Pick<ChallengeFacts, "purpose" | "subject">,
  own: readonly StoredPasskey[],
  userVerification: RequestOptions["userVerification"],
): RequestOptions {
  return {
    challenge: challenges.make(context, { ...facts, userHandle: null }),
    rpId: party.domain(context),
    timeout: CHALLENGE_SECONDS * 1000,
    userVerification,
    allowCredentials: own.map(descriptor),
  };
}

/** Makes the options with which a browser makes a passkey. */
export function creationOptions(
  context: HttpContext,
  { challenges, party }: PasskeyService,
  facts: Pick<ChallengeFacts, "purpose" | "subject"> & { readonly userHandle: string },
  own: readonly StoredPasskey[],
  names: ShownNames,
): CreationOptions {
  const userVerification = facts.purpose === "conditional" ? "preferred" : "required";
  return {
    challenge: challenges.make(context, facts),
    rp: { id: party.domain(context), name: party.name },
    user: { id: facts.userHandle, ...names },
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: "public-key", alg })),
    timeout: CHALLENGE_SECONDS * 1000,
    excludeCredentials: own.map(descriptor),
    authenticatorSelection: { residentKey: "required", requireResidentKey: true, userVerification },
    attestation: "none",
  };
}

/** What a browser shows a user by: the address, and the name. */
export function namesOf(user: object): ShownNames {
  const { email, name } = user as { readonly email?: unknown; readonly name?: unknown };
  const texts = [email, name].filter((one): one is string => typeof one === "string" && one !== "");
  return { name: texts[0] ?? "", displayName: texts.at(-1) ?? "" };
}

function descriptor({ credentialId: id, transports }: StoredPasskey): CredentialDescriptor {
  return { type: "public-key", id, transports };
}

import type { Authenticatable } from "../../auth/index.ts";
import type { HttpContext } from "../../http/index.ts";
import type { ChallengePurpose, Challenges } from "../ceremony/challenges.ts";
import { type CredentialInput, readCredential } from "../ceremony/credential-input.ts";
import type { RelyingParty } from "../ceremony/relying-party.ts";
import { type CredentialUse, verifyCredentialUse } from "../ceremony/webauthn.ts";
import type { PasskeyNotices } from "../passkey-notices.ts";
import type { OwnedPasskey, PasskeyStore, StoredPasskey } from "../stored/passkey-store.ts";

/** The dependencies of {@link verifyPasskey}. */
export interface VerifyDependencies {
  readonly challenges: Challenges;
  readonly party: RelyingParty;
  readonly store: PasskeyStore;
  readonly notices: PasskeyNotices;
}

/** What a passkey has to prove. */
export interface WantedProof {
  /** The guard whose user it is to be. */
  readonly guard: string;
  readonly purpose: ChallengePurpose;
  /** Whom the challenge is for, as in `ChallengeFacts`. */
  readonly subject: string | null;
  /** The user who has to have it; `null` for anyone. */
  readonly user: Authenticatable | null;
  /** Whether the authenticator must have verified its user, because the passkey is the only factor. */
  readonly requiresUserVerification: boolean;
}

/** What a passkey has proved. */
export interface ProvedPasskey {
  /** `null` if it has proved nothing. */
  readonly user: Authenticatable | null;
  /** The factors that it satisfies, as values of RFC 8176. */
  readonly amr: readonly string[];
  /** The id of the credential that was used in a valid ceremony, but isn't stored; otherwise `null`. */
  readonly unknownId: string | null;
}

const NOTHING: ProvedPasskey = { user: null, amr: [], unknownId: null };

/** A passkey that an input claims to come from. */
export interface ClaimedPasskey {
  readonly credential: CredentialInput | null;
  readonly owned: OwnedPasskey | null;
}

/** Finds the passkey that an input claims to come from. It proves nothing before {@link verifyPasskey}. */
export async function claimedPasskey(store: PasskeyStore, guard: string, input: unknown): Promise<ClaimedPasskey> {
  const credential = readCredential(input);
  return { credential, owned: credential === null ? null : await store.find(guard, credential.id) };
}

/** Verifies that a passkey was just used, and takes the challenge. The caller limits attempts. */
export async function verifyPasskey(
  context: HttpContext,
  { credential, owned }: ClaimedPasskey,
  { guard, purpose, subject, user, requiresUserVerification }: WantedProof,
  { challenges, party, store, notices }: VerifyDependencies,
): Promise<ProvedPasskey> {
  if (credential === null || credential.assertion === null) return NOTHING;
  if ((await challenges.take(context, credential.challenge, [purpose], subject)) === null) return NOTHING;
  if (owned === null) return { ...NOTHING, unknownId: credential.id };
  const { passkey, owner } = owned;
  if (user !== null && String(owner.authId()) !== String(user.authId())) return NOTHING;
  if (!isOfHandle(credential.assertion.userHandle, passkey, user !== null)) return NOTHING;
  const expected = { domain: party.domain(context), origins: party.origins(context) };
  const use = await verifyCredentialUse(credential, passkey.publicKey, expected, requiresUserVerification);
  if (use === null) return NOTHING;
  if (isCopied(passkey, use)) {
    await notices.report("passkeys.copied", context, { guard, user: owner, passkeyId: passkey.id, name: passkey.name });
    return NOTHING;
  }
  const isRecorded = await store.recordUse(owner, passkey, use, passkey.userHandle ?? credential.assertion.userHandle);
  return isRecorded ? { user: owner, amr: amrOf(use), unknownId: null } : NOTHING;
}

/**
 * Reports whether an authenticator knows the user by the same handle. If the user wasn't known before, it has to tell the
 * handle (WebAuthn §7.2, step 6). A passkey of another system has a handle that is learned at its first use; the signature of a
 * credential that is stored with its user proves who it is.
 */
function isOfHandle(told: string | null, { userHandle }: StoredPasskey, isUserKnown: boolean): boolean {
  return told === null ? isUserKnown : userHandle === null || told === userHandle;
}

/** The counter of an authenticator that counts grows with each use (WebAuthn §6.1.1). Synced passkeys stay at 0. */
function isCopied(before: StoredPasskey, { counter }: CredentialUse): boolean {
  return (counter > 0 || before.counter > 0) && counter <= before.counter;
}

/** The device and the fingerprint or PIN are two factors; the device alone is one. */
export function amrOf({
  isUserVerified,
  isSynced,
}: Pick<CredentialUse, "isUserVerified" | "isSynced">): readonly string[] {
  const key = isSynced ? "swk" : "hwk";
  return isUserVerified ? [key, "user", "mfa"] : [key];
}

import type { HttpContext } from "ashlar";
import type { Authenticatable, LoginGuard, LoginResult } from "ashlar/auth";
import { type Assertion, readAssertion } from "./assertion.ts";

/** What a passkey has proved. */
export interface PasskeyProof {
  /** `null` if it has proved nothing. */
  readonly user: Authenticatable | null;
  /** Whose passkey it claims to be, for announcements; `null` if unknown. */
  readonly claimed: Authenticatable | null;
  readonly amr: readonly string[];
}

/**
 * Verifies the assertion in the request's input `assertion`, within the limit `passkeys`.
 *
 * @param isChallenge reports whether the caller has been given a challenge
 * @throws `E_TOO_MANY_REQUESTS`
 */
export async function verifyPasskey(
  context: HttpContext,
  isChallenge: (challenge: string) => boolean,
): Promise<PasskeyProof> {
  const { passkeys, request, throttle } = context;
  const assertion = readAssertion(request.bodyInput("assertion"));
  const claimed = await passkeys.claimedUser(assertion);
  await throttle.hit(context, "passkeys", { user: claimed });
  const holds = assertion !== null && isChallenge(assertion.challenge) && (await passkeys.accept(assertion));
  if (holds) await throttle.giveBack(context, "passkeys");
  return { user: holds ? claimed : null, claimed, amr: assertion === null ? [] : amrOf(assertion) };
}

/** Logs the owner of a passkey in, with any guard. */
export async function enterByPasskey(
  context: HttpContext,
  guard: LoginGuard,
  isChallenge: (challenge: string) => boolean,
): Promise<LoginResult> {
  const { user, claimed, amr } = await verifyPasskey(context, isChallenge);
  if (user === null) return guard.fail({ by: "passkey", user: claimed });
  return guard.enter(user, { by: "passkey", amr });
}

/** Device and fingerprint are two factors. */
function amrOf({ userVerified }: Assertion): readonly string[] {
  return userVerified ? ["hwk", "user", "mfa"] : ["hwk"];
}

import type { HttpContext } from "../../http/index.ts";
import { ValidationError } from "../../support/index.ts";
import type { ChallengePurpose } from "../ceremony/challenges.ts";
import { readCredential } from "../ceremony/credential-input.ts";
import { type NewCredential, verifyNewCredential } from "../ceremony/webauthn.ts";
import { message } from "../messages.ts";
import type { PasskeyService } from "../passkey-service.ts";
import { authenticatorName } from "../stored/authenticator-names.ts";
import { passkeyNameFrom, type StoredPasskey } from "../stored/passkey-store.ts";

/** A passkey that was just made, and the values that it is stored with. */
export interface NewPasskey {
  readonly made: NewCredential;
  readonly facts: Pick<StoredPasskey, "name" | "userHandle" | "transports">;
}

/**
 * Verifies the passkey in the input `credential`, and takes its challenge.
 *
 * @param purposes the purposes that the challenge may have
 * @param subject whom the challenge is for, as in `ChallengeFacts`
 * @param name as the user has chosen it; if it is blank, the name of the authenticator's model or the password manager
 * @throws `E_INVALID_INPUT` if it doesn't hold, or the name can't be one
 */
export async function newPasskey(
  context: HttpContext,
  { challenges, party }: PasskeyService,
  purposes: readonly ChallengePurpose[],
  subject: string,
  name: unknown,
): Promise<NewPasskey> {
  const chosen = typeof name === "string" && name.trim() !== "" ? passkeyNameFrom(name) : undefined;
  if (chosen === null) throw new ValidationError({ name: [message("passkeys.nameInvalid")] });
  const refused = new ValidationError({ credential: [message("passkeys.refused")] });
  const credential = readCredential(context.request.bodyInput("credential"));
  if (credential === null || credential.attestationObject === null) throw refused;
  const taken = await challenges.take(context, credential.challenge, purposes, subject);
  if (taken === null || taken.userHandle === null) throw refused;
  const expected = { domain: party.domain(context), origins: party.origins(context) };
  const made = await verifyNewCredential(credential, expected, taken.purpose === "conditional");
  if (made === null) throw refused;
  const { userHandle } = taken;
  const named = chosen ?? (await authenticatorName(made.aaguid)) ?? context.t("passkeys.usual");
  return { made, facts: { name: named, userHandle, transports: credential.transports } };
}

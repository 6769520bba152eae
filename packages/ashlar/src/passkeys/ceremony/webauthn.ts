import type { CredentialInput } from "./credential-input.ts";

/** Which site's pages a credential may have been used on. */
export interface ExpectedParty {
  readonly origins: readonly string[];
  /** The RP ID. */
  readonly domain: string;
}

/** A new credential, verified. */
export interface NewCredential {
  /** Its id, in base64url. */
  readonly id: string;
  /** In COSE form, in base64url. */
  readonly publicKey: string;
  readonly counter: number;
  /** The model of its authenticator, as a UUID; zeros if it doesn't tell. */
  readonly aaguid: string;
  /** Whether it can be synced between devices. */
  readonly isSynced: boolean;
  /** Whether it is stored on more than one device. */
  readonly isBackedUp: boolean;
}

/** A use of a credential, verified. */
export interface CredentialUse {
  readonly counter: number;
  /** Whether the authenticator has verified its user, by a fingerprint or a PIN. */
  readonly isUserVerified: boolean;
  readonly isSynced: boolean;
  readonly isBackedUp: boolean;
}

/** EdDSA, ES256, RS256: what every browser's authenticators have one of (RFC 8152, IANA's COSE registry). */
export const ALGORITHMS: readonly number[] = [-8, -7, -257];

/**
 * Verifies a new credential (WebAuthn Level 3 §7.1). The caller has taken the challenge.
 *
 * @param isAutomatic whether the browser made it by itself, without asking its user
 * @returns `null` if it doesn't hold
 */
export async function verifyNewCredential(
  { id, clientDataJSON, attestationObject }: CredentialInput,
  { origins, domain }: ExpectedParty,
  isAutomatic: boolean,
): Promise<NewCredential | null> {
  const { verifyRegistrationResponse } = await import("@simplewebauthn/server");
  const { decodeAttestationObject, isoBase64URL } = await import("@simplewebauthn/server/helpers");
  try {
    const authData = decodeAttestationObject(isoBase64URL.toBuffer(attestationObject!)).get("authData");
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: {
        ...{ id, rawId: id, type: "public-key", clientExtensionResults: {} },
        response: { clientDataJSON, attestationObject: withoutAttestation(authData) },
      },
      expectedChallenge: () => true,
      expectedOrigin: [...origins],
      expectedRPID: domain,
      requireUserPresence: !isAutomatic,
      requireUserVerification: !isAutomatic,
      supportedAlgorithmIDs: [...ALGORITHMS],
    });
    if (!verified) return null;
    const { credential, aaguid, credentialDeviceType, credentialBackedUp } = registrationInfo;
    if (credential.id !== id) return null;
    return {
      id,
      publicKey: isoBase64URL.fromBuffer(credential.publicKey),
      counter: credential.counter,
      aaguid,
      isSynced: credentialDeviceType === "multiDevice",
      isBackedUp: credentialBackedUp,
    };
  } catch {
    // Whatever doesn't hold is reported by an error.
    return null;
  }
}

/**
 * Verifies the use of a credential (WebAuthn Level 3 §7.2), except for its counter. The caller has taken the challenge.
 *
 * @param publicKey as {@link NewCredential.publicKey}
 * @returns `null` if it doesn't hold
 */
export async function verifyCredentialUse(
  { id, clientDataJSON, assertion }: CredentialInput,
  publicKey: string,
  { origins, domain }: ExpectedParty,
  requireUserVerification: boolean,
): Promise<CredentialUse | null> {
  const { verifyAuthenticationResponse } = await import("@simplewebauthn/server");
  const { isoBase64URL } = await import("@simplewebauthn/server/helpers");
  const { authenticatorData, signature } = assertion!;
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: {
        ...{ id, rawId: id, type: "public-key", clientExtensionResults: {} },
        response: { clientDataJSON, authenticatorData, signature },
      },
      expectedChallenge: () => true,
      expectedOrigin: [...origins],
      expectedRPID: domain,
      // The counter is checked by the caller, who has to tell a copy from a signature that is wrong.
      credential: { id, publicKey: isoBase64URL.toBuffer(publicKey), counter: 0 },
      requireUserVerification,
    });
    if (!verified) return null;
    const { newCounter, userVerified, credentialDeviceType, credentialBackedUp } = authenticationInfo;
    return {
      counter: newCounter,
      isUserVerified: userVerified,
      isSynced: credentialDeviceType === "multiDevice",
      isBackedUp: credentialBackedUp,
    };
  } catch {
    return null;
  }
}

/**
 * An attestation object that attests nothing (WebAuthn §8.7), in CBOR: who made the authenticator is not asked for, so what
 * a client sends about it anyway is not looked at.
 */
function withoutAttestation(authData: Uint8Array): string {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(authData.length);
  const text = (value: string) => Buffer.from([0x60 + value.length, ...Buffer.from(value)]);
  const empty = Buffer.from([0xa0]);
  const map = [Buffer.from([0xa3]), text("fmt"), text("none"), text("attStmt"), empty, text("authData")];
  return Buffer.concat([...map, Buffer.from([0x59]), length, authData]).toString("base64url");
}

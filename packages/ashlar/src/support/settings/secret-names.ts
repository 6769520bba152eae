import { AshlarError } from "../errors.ts";

/**
 * Parts that don't occur in harmless words. A name is secret if it contains one anywhere: `x_PassWord`, `newpassword`.
 */
const STEMS =
  /password|passwd|passphrase|passcode|credential|csrf|xsrf|(?:api|app|private|secret|access|master|signing|encryption|session|previous)keys?$/;

/**
 * Parts that are looked for within each word: `api_token`, `accesstoken`, `clientSecrets`, but not `tokenizer` or
 * `secretary`.
 */
const IN_A_WORD = /token(?!i[sz])|secret(?!ar)|cookie|authorization/;

/** Words that must match completely. As parts of longer words, they are harmless: `pinned`, `footprint`. */
const WORDS: ReadonlySet<string> = new Set([
  ...["pwd", "pin", "pins", "pincode", "otp", "totp", "hotp", "jwt", "bearer", "mnemonic", "sessid", "cvv", "cvc"],
]);

/** Combinations of words that are secret together: `recovery_codes`, `sessionId`, `smtpPass`. */
const PAIRS =
  /(?:^| )(?:(?:recovery|backup|verification|security|login|mfa|2fa|factor|time|pin) codes?|session id|(?:smtp|mail|db|database|redis|user|login) pass)(?: |$)/;

/** Endings of names that describe a secret without containing it: `token_type`, `password_changed_at`. */
const ABOUT =
  /(?:^| )(?:at|id|ids|count|counts|length|size|type|types|name|names|column|columns|expires|expiry|expiration|minutes|seconds|hours|days|ttl|limit|limits|policy|strength|algorithm|required|enabled|consent|accepted|banner)$/;

/** The names that features declare, each as words with spaces around them: ` door code `. */
const declared = new Set<string>();

/**
 * The number of cached results. It is enough for the names in an application's own data, and keeps clients from filling
 * the memory with names.
 */
const MAX_REMEMBERED = 2000;
const remembered = new Map<string, boolean>();

/**
 * Reports whether a field, header, input, parameter or setting holds a secret, by its name. Logs, error pages and forms
 * all use this list: a secret is never logged, shown, or filled in again. The list contains names that any application
 * may use; features add theirs with {@link declareSecretNames}.
 *
 * Names are compared word by word, regardless of how the words are joined: `api_token`, `apiToken`, `API-TOKEN`.
 *
 * Security: only the name is checked. A secret under another name is logged unchanged.
 */
export function isSecretName(name: string): boolean {
  const known = remembered.get(name);
  if (known !== undefined) return known;
  const isSecret = decide(name);
  if (remembered.size < MAX_REMEMBERED) remembered.set(name, isSecret);
  return isSecret;
}

/**
 * Declares that fields, headers, inputs, parameters or settings with these names hold secrets. A name counts in every
 * spelling, and within longer ones: after `declareSecretNames("door_code")`, `newDoorCode` is a secret too, but
 * `door_code_expires_at` is not. Call it at the top of the module that introduces such a name. It applies to all
 * applications in the process, and cannot be undone.
 *
 * @throws `E_INVALID_CONFIGURATION` if a name has no letters or digits
 */
export function declareSecretNames(...names: readonly string[]): void {
  for (const name of names) {
    const words = wordsOf(name);
    if (words.length === 0) {
      const problem = `${JSON.stringify(name)} cannot be the name of a secret.`;
      throw new AshlarError("E_INVALID_CONFIGURATION", `${problem} Name a field: declareSecretNames("door_code").`);
    }
    declared.add(` ${words.join(" ")} `);
  }
  remembered.clear();
}

function decide(name: string): boolean {
  // No application uses a longer name, and a client must not be able to slow down logging with long names.
  const words = wordsOf(name.slice(0, 256));
  const text = words.join(" ");
  const declaredNames = [...declared];
  if (PAIRS.test(text) || declaredNames.some((one) => ` ${text} `.endsWith(one))) return true;
  if (words.length > 1 && ABOUT.test(text)) return false;
  if (declaredNames.some((one) => ` ${text} `.includes(one))) return true;
  if (text === "pass" || STEMS.test(words.join(""))) return true;
  return words.some((word) => WORDS.has(word) || IN_A_WORD.test(word));
}

function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z\d])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, "$1$3 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
}

const MAX_LENGTH = 100;
/** Characters that change the lines of a mail or a log. */
const CONTROL = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/** Reports whether a text can be the name of a token: 1 to 100 characters that aren't blank, in one line. */
export function isTokenName(name: string): boolean {
  return name.trim() !== "" && name.length <= MAX_LENGTH && name.isWellFormed() && !CONTROL.test(name);
}

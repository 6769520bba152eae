import { isPlainObject } from "./dictionary.ts";
import { ConfigurationError } from "./errors.ts";
import { suggestion } from "./nearest.ts";

/**
 * The members of one object of the configuration, once its names are checked: a misspelt setting would otherwise be left
 * out without a word. Every object whose names are known goes through here.
 *
 * @param value the object; `undefined` and `null` count as an empty one
 * @param where its place for messages, such as `config/app.ts: APP.server`
 * @param known the names it may have
 * @throws `E_INVALID_CONFIGURATION` if it is not an object, or for an unknown name, with the near ones
 */
export function settingsOf(
  value: unknown,
  where: string,
  known: readonly string[],
  example = "{ name: value }",
): Readonly<Record<string, unknown>> {
  const settings = value ?? {};
  if (!isPlainObject(settings)) throw new ConfigurationError(where, "is not an object.", `Write it as ${example}.`);
  for (const name of Object.keys(settings)) {
    if (!known.includes(name)) throw unknownSetting(`${where}.${name}`, name, known);
  }
  return settings;
}

/** The error that refuses the name of a setting. */
export function unknownSetting(where: string, name: string, known: readonly string[]): ConfigurationError {
  return new ConfigurationError(where, "is not a known setting.", suggestion(name, known));
}

import { readFile } from "node:fs/promises";

/** The parts of a systemd unit that say what to run. */
export interface SystemdUnit {
  /** The last value of a setting; throws if it is missing. */
  value(setting: string): string;
  /** The words of a command line, without quotes. */
  command(setting: string): string[];
  /** The variables in `Environment`. */
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * Reads a unit.
 *
 * @param instance what `%i` stands for
 */
export async function readUnit(file: string, instance: string): Promise<SystemdUnit> {
  const text = (await readFile(file, "utf8")).replaceAll("%i", instance);
  const settings = new Map([...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name!, value!]));
  const value = (setting: string): string => {
    const found = settings.get(setting);
    if (found === undefined) throw new Error(`${file} has no ${setting}.`);
    return found;
  };
  const command = (setting: string): string[] =>
    [...value(setting).matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!);
  const pairs = [...text.matchAll(/^Environment=(.*)$/gm)].flatMap(([, set]) => set!.split(" "));
  return { value, command, environment: Object.fromEntries(pairs.map((pair) => pair.split("="))) };
}

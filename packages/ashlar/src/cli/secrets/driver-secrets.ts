import { loadConfiguration } from "../../boot/index.ts";
import { jwtKeyNames, type KeyVariables, variablePrefix } from "../../scaffold/index.ts";
import { generateSecret } from "../../security/index.ts";
import { type EnvironmentVariables, isLeftOut, isPlainObject, limited } from "../../support/index.ts";

/** How long loading the file may take, in seconds. */
const SECONDS = 20;

/** The drivers, as loaded with a stand-in value for one variable. */
interface Reading {
  readonly name: string;
  readonly standIn: string;
  readonly drivers: Drivers;
}

type Drivers = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** A driver's secret or private key in `config/api.ts`, and the variables that it comes from. */
export interface DriverSecret {
  /** The driver's name. */
  readonly driver: string;
  /** Whether the driver only accepts another issuer's tokens, and so has no secret. */
  readonly isForeign: boolean;
  /** The algorithm, as written in the driver. */
  readonly algorithm: unknown;
  /** The secret's value, as read by the configuration. */
  readonly secret: unknown;
  readonly variables: KeyVariables;
}

/** The secrets of an application's drivers. */
export interface DriverSecrets {
  /** The secrets by driver name, in the order of `DRIVERS`. */
  readonly drivers: ReadonlyMap<string, DriverSecret>;
  /** The names of all variables that `config/api.ts` reads. */
  readonly read: ReadonlySet<string>;
}

/**
 * Finds out which variables the drivers of `config/api.ts` read their secrets from. Loads the file as it is, and then
 * once more for each variable that it reads, with a stand-in value for this variable only. If a setting becomes exactly
 * this value, it is read from the variable, whatever code is in between.
 *
 * @param root the application's folder
 * @throws the file's errors with the real variables; `TooSlowError` if the file doesn't finish loading
 */
export async function driverSecretsOf(root: string, variables: EnvironmentVariables): Promise<DriverSecrets> {
  return await limited(SECONDS, "Loading config/api.ts", () => tracedSecrets(root, variables));
}

async function tracedSecrets(root: string, variables: EnvironmentVariables): Promise<DriverSecrets> {
  const trial = new Trial(variables);
  const drivers = await driversOf(root, trial.variables);
  const read = new Set(trial.read);
  const reading: Reading[] = [];
  for (const name of read) {
    const standIn = generateSecret();
    const load = () => driversOf(root, trial.variables);
    // If the file refuses the value, for example because it isn't a number, we learn nothing about the variable.
    reading.push({ name, standIn, drivers: await trial.replacing(name, standIn, load).catch(() => ({})) });
  }
  const secrets = Object.entries(drivers).map(([driver, entry]): DriverSecret => {
    const variableOf = (setting: keyof KeyVariables): string | null => {
      const candidates = reading.filter((one) => one.drivers[driver]?.[setting] === one.standIn);
      return chosen(entry[setting], candidates, variables);
    };
    return {
      driver,
      isForeign: Object.hasOwn(entry, "jwks"),
      algorithm: entry.algorithm,
      secret: entry.secret,
      variables: {
        secret: variableOf("secret"),
        nextSecret: variableOf("nextSecret"),
        previousSecrets: variableOf("previousSecrets"),
      },
    };
  });
  return { drivers: new Map(secrets.map((one) => [one.driver, one])), read };
}

/** Reports whether a driver signs with a secret, and not with a private key. */
export function isHmac(algorithm: unknown): boolean {
  return algorithm === undefined || String(algorithm).startsWith("HS");
}

/** The variable to suggest for `config/api.ts` if a driver doesn't read its secret from one. */
export function usualVariable(driver: string, algorithm: unknown): string {
  if (!isHmac(algorithm)) return jwtKeyNames(driver).current;
  return driver === "jwt" ? "JWT_SECRET" : `${variablePrefix(driver)}_JWT_SECRET`;
}

async function driversOf(root: string, variables: EnvironmentVariables): Promise<Drivers> {
  const config = await loadConfiguration(root, variables, {}, "api");
  const { DRIVERS } = config.has("api") ? config.section("api") : {};
  const entries = Object.entries(isPlainObject(DRIVERS) ? DRIVERS : {}).filter(([, entry]) => isPlainObject(entry));
  return Object.fromEntries(entries) as Drivers;
}

/** Chooses the variable that a setting comes from. The candidates are in the order in which the file reads them. */
function chosen(value: unknown, candidates: readonly Reading[], variables: EnvironmentVariables): string | null {
  const names = candidates.map(({ name }) => name);
  if (isLeftOut(value)) return names[0] ?? null;
  const set = names.filter((name) => !isLeftOut(variables[name]));
  return set.find((name) => variables[name] === value) ?? set[0] ?? null;
}

/** Environment variables that record which of them are read. One at a time can be replaced with a stand-in value. */
class Trial {
  readonly variables: EnvironmentVariables;
  readonly read = new Set<string>();
  #name: string | null = null;
  #standIn = "";

  constructor(variables: EnvironmentVariables) {
    // A copy, because a proxy of a frozen object must return the real values.
    this.variables = new Proxy<EnvironmentVariables>(Object.assign(Object.create(null), variables), {
      get: (target, name) => {
        this.read.add(String(name));
        return name === this.#name ? this.#standIn : target[String(name)];
      },
    });
  }

  /** Runs a function with a stand-in value for one variable. Code that runs later gets the real variables. */
  async replacing<T>(name: string, standIn: string, task: () => Promise<T>): Promise<T> {
    [this.#name, this.#standIn] = [name, standIn];
    try {
      return await task();
    } finally {
      this.#name = null;
    }
  }
}

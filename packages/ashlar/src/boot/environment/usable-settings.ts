import { randomBytes } from "node:crypto";
import { type EnvironmentVariables, isPlainObject, type SetupProblems } from "../../support/index.ts";
import type { CompleteApplicationSettings } from "./application-settings.ts";
import type { Configuration } from "./configuration.ts";
import { readApplicationSettings } from "./settings.ts";

const SETTING = /^config\/app\.ts: APP\.(\w+)/;
const VARIABLE = /^Environment variable (\w+)/;
/** All other settings depend on the environment, so they can't be read without it. */
const ENVIRONMENT_NAME = /^(?:config\/app\.ts: APP\.environment|Environment variable (?:NODE|APP)_ENV)\b/;

/** Stand-ins for required variables. No request is ever served with them. */
const STAND_INS: Readonly<Record<string, () => string>> = {
  APP_KEY: () => randomBytes(32).toString("base64url"),
  APP_URL: () => "https://application.invalid",
};

/**
 * Reads `APP`. Collects invalid settings as problems and reads the others without them, so that startup can continue and find
 * further problems.
 *
 * @returns the settings; `undefined` if they can't be read even without the invalid ones
 */
export function usableSettings(
  problems: SetupProblems,
  config: Configuration,
  environment: EnvironmentVariables,
  hasRoot: boolean,
): CompleteApplicationSettings | undefined {
  let app = problems.try(() => config.optionalSection("app", ["APP"]).APP);
  let variables = environment;
  for (const left = new Set<string>(); ; ) {
    const settings = problems.try(() => readApplicationSettings(app, variables, hasRoot));
    if (settings !== undefined) return settings;
    const wrong = problems.places.filter((place) => !left.has(place));
    if (wrong.length === 0 || wrong.some((place) => ENVIRONMENT_NAME.test(place))) return undefined;
    for (const place of wrong) {
      left.add(place);
      app = without(app, SETTING.exec(place)?.[1]);
      variables = withStandIn(variables, VARIABLE.exec(place)?.[1]);
    }
  }
}

function without(app: unknown, name: string | undefined): unknown {
  if (name === undefined || !isPlainObject(app)) return app;
  const { [name]: _, ...others } = app;
  return others;
}

function withStandIn(variables: EnvironmentVariables, name: string | undefined): EnvironmentVariables {
  if (name === undefined) return variables;
  const { [name]: _, ...others } = variables;
  const standIn = STAND_INS[name];
  return standIn === undefined ? others : { ...others, [name]: standIn() };
}

import { randomBytes } from "node:crypto";
import { type EnvironmentVariables, isPlainObject, type SetupProblems } from "../../support/index.ts";
import type { CompleteApplicationSettings } from "./application-settings.ts";
import type { Configuration } from "./configuration.ts";
import { readApplicationSettings } from "./settings.ts";

const SETTING = /^config\/app\.ts: APP\.(\w+)/;
const VARIABLE = /^Environment variable (\w+)/;
/** What the application is run for decides what everything else has to be. */
const ENVIRONMENT_NAME = /^(?:config\/app\.ts: APP\.environment|Environment variable (?:NODE|APP)_ENV)\b/;

/** What stands for variables that an application can't do without. No request is ever served with them. */
const STAND_INS: Readonly<Record<string, () => string>> = {
  APP_KEY: () => randomBytes(32).toString("base64url"),
  APP_URL: () => "https://application.invalid",
};

/**
 * Reads `APP`. If something in it is wrong, that is collected, and the others are read without it, so that the boot can
 * continue to find out what else is wrong.
 *
 * @returns the settings; `undefined` if they can't be read even without what is wrong
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

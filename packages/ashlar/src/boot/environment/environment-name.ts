import { ConfigurationError, type EnvironmentVariables } from "../../support/index.ts";

/** The environments that an application can run in. */
export type EnvironmentName = "production" | "development" | "test";

export const ENVIRONMENTS: readonly EnvironmentName[] = ["production", "development", "test"];

const CHOICES = `${ENVIRONMENTS.slice(0, -1).join(", ")} or ${ENVIRONMENTS.at(-1)}`;

/**
 * Determines the environment that the application runs in: `APP.environment` or `APP_ENV`, else `NODE_ENV`, else
 * `development`.
 *
 * If more than one is set, they must agree. Otherwise the less strict one could win unnoticed. `NODE_ENV=test` is the
 * exception: test runners set it, so it contradicts nothing, and `APP_ENV=production` in a test runner means production.
 *
 * @param configured `APP.environment`; `null` if it is not set
 * @throws `E_INVALID_CONFIGURATION` if two of them contradict each other, or the deciding name is misspelled
 */
export function environmentName(
  variables: EnvironmentVariables,
  configured: EnvironmentName | null = null,
): EnvironmentName {
  const ofVariable = variables.APP_ENV ? named("APP_ENV", variables.APP_ENV) : null;
  if (configured !== null && ofVariable !== null && configured !== ofVariable) {
    throw contradiction("APP_ENV", ofVariable, "config/app.ts: APP.environment", configured);
  }
  const chosen = configured ?? ofVariable;
  // Shells and process managers may add spaces and capitals. " Production" must still mean production.
  const ofNode = (variables.NODE_ENV ?? "").trim().toLowerCase();
  if (chosen === null) return ofNode === "" ? "development" : named("NODE_ENV", ofNode, variables.NODE_ENV);
  const contradicts = ofNode !== "test" && ENVIRONMENTS.some((name) => name === ofNode && name !== chosen);
  if (!contradicts) return chosen;
  throw contradiction("NODE_ENV", ofNode, configured === null ? "APP_ENV" : "config/app.ts: APP.environment", chosen);
}

function named(variable: string, name: string, written: string = name): EnvironmentName {
  const known = ENVIRONMENTS.find((one) => one === name);
  if (known !== undefined) return known;
  throw new ConfigurationError(
    `Environment variable ${variable}`,
    `is ${JSON.stringify(written)}.`,
    variable === "APP_ENV" ? `Set it to ${CHOICES}.` : `Set it, or APP_ENV, to ${CHOICES}.`,
  );
}

function contradiction(variable: string, name: string, other: string, otherName: string): ConfigurationError {
  return new ConfigurationError(
    `Environment variable ${variable}`,
    `is "${name}", but ${other} is "${otherName}".`,
    `Set both to the same, or remove one of them; also look in .env.`,
  );
}

import { ConfigurationError, type EnvironmentVariables } from "../../support/index.ts";
import type { Configuration } from "../environment/configuration.ts";
import { loadConfiguration } from "../environment/load-configuration.ts";
import type { ProviderClass } from "./provider.ts";

/**
 * Loads `PROVIDERS` from an application's `config/providers.ts`, and no other configuration. The list is empty if the file
 * doesn't exist.
 *
 * @param root the application's folder
 * @throws `E_INVALID_CONFIGURATION`
 */
export async function loadProviders(
  root: string,
  environment: EnvironmentVariables,
): Promise<readonly ProviderClass[]> {
  return providersOf(await loadConfiguration(root, environment, {}, "providers"));
}

/**
 * The provider classes in `PROVIDERS` of `config/providers.ts`; an empty list if the file doesn't exist.
 *
 * @throws `E_INVALID_CONFIGURATION`
 */
export function providersOf(config: Configuration): readonly ProviderClass[] {
  if (!config.has("providers")) return [];
  const { PROVIDERS: providers } = config.section("providers", ["PROVIDERS"]);
  const isList = Array.isArray(providers) && providers.every((provider) => typeof provider === "function");
  if (isList) return providers as readonly ProviderClass[];
  throw new ConfigurationError(
    "config/providers.ts: PROVIDERS",
    "is not a list of provider classes.",
    "Write it as: export const PROVIDERS = [ViewProvider];",
  );
}

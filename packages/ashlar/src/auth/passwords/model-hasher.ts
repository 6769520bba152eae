import { applicationsNaming, type ModelClass } from "../../database/index.ts";
import {
  type ConfigurationSections,
  currentApplication,
  type RunningApplication,
  runningApplications,
} from "../../kernel/index.ts";
import { DEFAULT_HASHER, type PasswordHasher } from "../../security/index.ts";
import { ConfigurationError } from "../../support/index.ts";
import { AUTH_EXPORTS } from "../configuration.ts";
import { passwordHasher } from "./password-settings.ts";

/**
 * Returns the hasher for users of a class: from the application that names the class in its configuration, or the only
 * application, or the application that the running code belongs to. It is read from the configuration, so it does not
 * depend on the list of providers or their order. Without an application, it is the default hasher.
 *
 * @throws `E_INVALID_CONFIGURATION` if several applications have different hashers, and it is not clear which one to
 * use
 */
export function hasherOf(userClass: object): PasswordHasher {
  const owners = applicationsNaming(userClass as ModelClass);
  const candidates = owners.length > 0 ? owners : runningApplications();
  const current = currentApplication();
  if (current !== null && candidates.includes(current)) return hasherOfApplication(current);
  const [first = DEFAULT_HASHER, ...others] = new Set(candidates.map(hasherOfApplication));
  if (others.length === 0) return first;
  const problem = `several applications of this process have different password hashers, and ${(userClass as ModelClass).name} may be a user of any.`;
  throw new ConfigurationError("config/auth.ts: PASSWORDS.hasher", problem, "Give them the same hasher.");
}

/** The hashers that were read from each configuration. */
const known = new WeakMap<ConfigurationSections, PasswordHasher>();

function hasherOfApplication({ config }: RunningApplication): PasswordHasher {
  const hasher = known.get(config) ?? passwordHasher(config.optionalSection("auth", AUTH_EXPORTS).PASSWORDS);
  known.set(config, hasher);
  return hasher;
}

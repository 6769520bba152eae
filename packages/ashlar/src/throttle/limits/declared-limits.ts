import type { InstalledFeature } from "../../boot/index.ts";
import { checkDeclaredLimits, type LimitDeclaration } from "./limit.ts";

/**
 * The limits declared by an application's features, by name.
 *
 * @throws `E_INVALID_CONFIGURATION` if one of them is invalid
 */
export function declaredLimits(features: readonly InstalledFeature[]): Readonly<Record<string, LimitDeclaration>> {
  const all: Record<string, LimitDeclaration> = {};
  for (const { feature, provider } of features) {
    const { limits = {} } = feature;
    checkDeclaredLimits(limits, provider);
    Object.assign(all, limits);
  }
  return all;
}

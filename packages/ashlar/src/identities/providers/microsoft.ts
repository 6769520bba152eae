import { ConfigurationError } from "../../support/index.ts";
import type { IdentityClaims, IdentityProvider, SecretProviderOptions } from "./identity-provider.ts";
import { openIdProvider } from "./open-id.ts";

/** Settings of {@link microsoft}. */
export interface MicrosoftOptions extends SecretProviderOptions {
  /**
   * Whose users can log in: those of one tenant, by its ID (a UUID); `organizations`, of all work and school accounts;
   * `consumers`, of personal accounts; `common`, the default, of both.
   */
  readonly tenant?: string;
  /** The IDs of the tenants whose users can log in, if `tenant` isn't one. Default: all. */
  readonly tenants?: readonly string[];
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
/** The tenant of personal accounts. */
const CONSUMERS = "9188040d-6c67-4c5b-b112-36a304b66dad";
const GROUPS: readonly string[] = ["common", "organizations", "consumers"];

/**
 * Microsoft accounts (Entra ID). Each tenant is a separate issuer, so an identity is the tenant and its user.
 *
 * Security: the administrator of a tenant chooses its users' addresses. They count as verified only if the token has the optional
 * claim `xms_edov`, which says that the tenant owns the address's domain.
 *
 * @throws `E_INVALID_CONFIGURATION` if `tenant` is neither one of the words nor an ID
 */
export function microsoft({
  clientSecret,
  tenant = "common",
  tenants,
  ...options
}: MicrosoftOptions): IdentityProvider {
  for (const id of [...(GROUPS.includes(tenant) ? [] : [tenant]), ...(tenants ?? [])]) {
    if (UUID.test(id)) continue;
    const problem = `"${id}" is not the ID of a tenant.`;
    const remedy = `Write its UUID in lower case, or ${GROUPS.join(", ")}.`;
    throw new ConfigurationError("microsoft: tenant", problem, remedy);
  }
  const accepts = ({ tid }: IdentityClaims): boolean => {
    if (typeof tid !== "string" || !UUID.test(tid)) return false;
    if (tenant === "consumers") return tid === CONSUMERS;
    if (tenant === "organizations" && tid === CONSUMERS) return false;
    if (!GROUPS.includes(tenant)) return tid === tenant;
    return tenants?.includes(tid) ?? true;
  };
  return openIdProvider(`https://login.microsoftonline.com/${tenant}/v2.0`, "Microsoft", options, {
    clientSecret: clientSecret || null,
    isVerified: ({ xms_edov: isOwned }) => [true, "true", 1, "1"].includes(isOwned as string),
    // auth_time is an optional claim there.
    confirms: false,
    accepts,
  });
}

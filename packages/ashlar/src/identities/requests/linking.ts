import { type Authenticatable, isBlocked } from "../../auth/index.ts";
import type { HttpContext } from "../../http/index.ts";
import { normalizeEmail } from "../../security/index.ts";
import type { RegisteredUser } from "../../support/index.ts";
import type { ConfirmedIdentity } from "../exchange/provider-client.ts";
import { IDENTITY } from "../identity-proof.ts";
import type { IdentityService } from "../identity-service.ts";
import type { NamedProvider } from "../settings.ts";
import type { IdentityRefusal } from "./refusals.ts";

/** Whose account it is. */
interface OwnAccount {
  readonly user: Authenticatable;
  /** Whether it was just made. */
  readonly isNew: boolean;
}

const NAME_LENGTH = 255;

/**
 * Finds whose account at a provider it is, among the users of the active guard. If no one has connected it, it is connected to the
 * account with its address, or a new account is made.
 *
 * Security: accounts are connected by an address only if both sides have proved it: the provider says that it has verified the
 * address, its data says that this counts, and the address is verified here. An account that someone registered with an address
 * that they didn't own is never handed over, nor is its password kept (GHSA-g38m-r43w-p2q7).
 */
export async function accountOf(
  context: HttpContext,
  service: IdentityService,
  provider: NamedProvider,
  confirmed: ConfirmedIdentity,
): Promise<OwnAccount | IdentityRefusal> {
  const { store } = service;
  const guard = context.auth.guardName;
  const known = await store.ownerOf(guard, confirmed);
  if (known !== null) {
    await store.recordUse(known.owner, known.identity, confirmed);
    return { user: known.owner, isNew: false };
  }
  const email = confirmed.email === null ? null : normalizeEmail(confirmed.email);
  if (email === null) return "no_address";
  if (!confirmed.isVerified) return "unverified";
  const account = await service.application.container.make("accounts").users.of(guard).findByEmail(email);
  if (account?.hasVerifiedEmail?.() === true) return connected(context, service, provider, confirmed, account);
  const made = await registered(context, service, provider, { ...confirmed, email });
  if (made !== "taken") return made;
  // A request that came at the same time may have made the account.
  const other = await store.ownerOf(guard, confirmed);
  return other === null ? "taken" : { user: other.owner, isNew: false };
}

async function connected(
  context: HttpContext,
  { notices, store }: IdentityService,
  provider: NamedProvider,
  confirmed: ConfirmedIdentity,
  account: Authenticatable,
): Promise<OwnAccount | IdentityRefusal> {
  // The login says so.
  if (isBlocked(account)) return { user: account, isNew: false };
  const { name, label } = provider;
  return store.transaction(async () => {
    const id = await store.add(account, name, confirmed);
    if (id === null) return "failed";
    if (id !== "known") {
      await notices.report("identities.connected", context, { user: account, identityId: id, provider: name, label });
      return { user: account, isNew: false };
    }
    const other = await store.ownerOf(context.auth.guardName, confirmed);
    return other === null ? "failed" : { user: other.owner, isNew: false };
  });
}

async function registered(
  context: HttpContext,
  { notices, store }: IdentityService,
  provider: NamedProvider,
  confirmed: ConfirmedIdentity & { readonly email: string },
): Promise<OwnAccount | IdentityRefusal> {
  const { label, name: providerName, options } = provider;
  const { email } = confirmed;
  if (options.registers === false) return "closed";
  const domain = email.slice(email.lastIndexOf("@") + 1);
  const { domains } = options;
  if (domains !== undefined && !domains.some((one) => one.toLowerCase() === domain)) return "domain";
  const attributes = { name: nameOf(confirmed), ...options.attributes?.(confirmed.claims) };
  const user = await context.accounts
    .create({ ...attributes, email, provedBy: IDENTITY }, async (account) => {
      const id = await store.add(account, providerName, confirmed);
      // Undoes the registration.
      if (id === null || id === "known") throw new AlreadyConnected();
      notices.emit("identities.connected", context, { user: account, identityId: id, provider: providerName, label });
    })
    .catch((error: unknown) => {
      if (error instanceof AlreadyConnected) return null;
      throw error;
    });
  return user === null ? "taken" : { user: user as RegisteredUser & Authenticatable, isNew: true };
}

/** Another request has connected the account at the provider. */
class AlreadyConnected extends Error {}

/** A name for a new account: a single line of text. */
function nameOf({ name, email }: ConfirmedIdentity & { readonly email: string }): string {
  const line = (name ?? "").replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ").trim();
  return (line === "" ? email.slice(0, email.indexOf("@")) : line).slice(0, NAME_LENGTH).toWellFormed();
}

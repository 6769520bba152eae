import { setTimeout } from "node:timers/promises";
import type { Application } from "../../../boot/index.ts";
import type { HttpContext } from "../../../http/index.ts";
import type { Container } from "../../../kernel/index.ts";
import { digest } from "../../../security/index.ts";
import { currentDate, UnitOfWork } from "../../../support/index.ts";
import type { Throttle, ThrottleKeys } from "../../../throttle/index.ts";
import { announce } from "../../events.ts";
import type { GuessWarnings } from "../../guards/guesses.ts";
import { ACCOUNT_LIMIT, PASSWORD_LIMIT } from "../../limits.ts";
import { accountName, identifiersOf } from "../../passwords/verify-credentials.ts";
import type { AccountUser } from "../../users/account-store.ts";
import { type Authenticatable, awaitsVerification } from "../../users/authenticatable.ts";
import { DEVICE_LINK_AGAIN_LIMIT, DEVICE_LINK_LIMIT, GUESSES_CHECK_LIMIT, GUESSES_LIMIT } from "../limits.ts";
import { type AccountLinks, DEVICE_EXPIRES_IN_HOURS, epochDigestOf } from "../links/account-links.ts";
import type { AccountPages } from "../links/account-pages.ts";
import type { AccountPromises, PromiseWork } from "../links/account-promises.ts";
import type { AccountMails } from "../mails/account-mails.ts";
import type { GuardUsers } from "../users/guard-users.ts";

/** How often, and after how long, a refused use of a link checks whether the same client is using it at the moment. */
const [LOOKS, LOOK_PAUSE_MS] = [5, 100];

/** The page that a link leads to. */
const PAGE = "login.device";

/** A link that can still let a device in. */
export interface UsableDeviceLink {
  /** The address of the account. */
  readonly email: string;
  /**
   * Whether the account already knows the request's device, or its user is logged in, so that the link isn't needed.
   */
  readonly isKnown: boolean;
}

/** The dependencies of {@link DeviceLinks}. */
export interface DeviceLinksDependencies {
  readonly users: GuardUsers;
  readonly pages: AccountPages;
  readonly links: AccountLinks;
  readonly mails: AccountMails;
  readonly promises: AccountPromises;
  readonly application: Application;
  readonly container: Container;
}

/** The stored data of a warning. */
interface Warning {
  readonly guard: string;
  /** The primary key of the account, as text; `null` if there isn't one. */
  readonly id: string | null;
}

/**
 * Notifies the owner of an account that unknown devices have used up their guesses, with a link that makes one device
 * known to the account, so that strangers' guesses, however many, can't lock the owner out.
 *
 * Security: a link only proves access to the mailbox, and logs no one in. The password is still required, and a device
 * that became known this way has a limited number of guesses, too.
 */
export class DeviceLinks implements GuessWarnings {
  readonly #dependencies: DeviceLinksDependencies;
  readonly #promise: PromiseWork<Warning, never>;

  constructor(dependencies: DeviceLinksDependencies) {
    this.#dependencies = dependencies;
    this.#promise = dependencies.promises.declare("guesses", "a warning about guesses", (context, warning) => {
      // A stranger may have chosen the request's host. If each host has its own cookie, it is still the best guess.
      const mail = () => this.#mail(context, warning);
      return this.#isShared ? dependencies.application.linkOrigin.under(null, mail) : mail();
    });
  }

  hasLinkHere(guard: string): boolean {
    const { application } = this.#dependencies;
    const { requested } = application.linkOrigin;
    if (!this.#hasLink(guard)) return false;
    // A link never leads to another site's host: see `LinkOrigin.underSite`.
    return this.#isShared || application.linkOrigin.underSite(() => application.linkOrigin.requested) === requested;
  }

  async promise(context: HttpContext, guard: string, user: Authenticatable | null, account: string): Promise<boolean> {
    const { container, mails } = this.#dependencies;
    if (!mails.areSent) return false;
    const check = { realm: "guesses", account };
    const throttle = this.#throttle;
    if (throttle !== null && !(await throttle.consume(GUESSES_CHECK_LIMIT, check)).allowed) return true;
    try {
      await this.#promise(context, { guard, id: user === null ? null : String(user.authId()) });
      return true;
    } catch (error) {
      container.make("logger").error({ err: error }, "A warning about guesses could not be stored.");
      await throttle?.reset(GUESSES_CHECK_LIMIT, check);
      return false;
    }
  }

  async #mail(context: HttpContext, { guard, id }: Warning): Promise<void> {
    const { users, pages, links, mails, container } = this.#dependencies;
    const user = id === null ? null : ((await users.named(guard)?.findByAuthId(id)) ?? null);
    // As with every mail that strangers can trigger, the address must be verified if the class tracks that.
    if (user === null || awaitsVerification(user)) return;
    const { email } = user;
    if (typeof email !== "string") return;
    // Counted separately for each guard's users, so that guesses at another guard's account don't use it up.
    const keys = { realm: container.make("auth").realmOf(guard), account: email };
    if ((await this.#throttle?.peek(GUESSES_LIMIT, keys))?.allowed === false) return;
    const token = links.device({ guard, id: String(user.authId()), epoch: epochDigestOf(user) });
    const url = this.#hasLink(guard) ? pages.url(guard, PAGE, { token }) : null;
    await mails.prepare();
    const [detectedAt, expiresInHours] = [currentDate(), DEVICE_EXPIRES_IN_HOURS];
    // The default if the user hasn't chosen one. The request's language is a stranger's.
    const language = container.make("messages").defaultLanguage;
    // If the mail can't be stored, the promise is kept later, so the mail must not count as sent.
    await mails.queue("guessesUsedUp", email, { guard, language, user, email, url, expiresInHours, detectedAt });
    await this.#countMail(keys);
    announce(context, "auth.guesses_used_up", guard, { user });
  }

  /**
   * Counts a mail once it is certain to be sent. If counting fails, another mail may be sent, which is better than
   * none.
   */
  async #countMail(keys: ThrottleKeys): Promise<void> {
    const { logger } = this.#dependencies.application;
    const count = async (): Promise<void> => {
      try {
        await this.#throttle?.consume(GUESSES_LIMIT, keys);
      } catch (error) {
        logger.error({ err: error, limit: GUESSES_LIMIT }, "A mail could not be counted.");
      }
    };
    const unit = UnitOfWork.current;
    if (unit === null) await count();
    else unit.afterCommit(count);
  }

  #hasLink(guard: string): boolean {
    const { mails, pages } = this.#dependencies;
    return mails.areSent && pages.has(guard, PAGE);
  }

  /** Whether the running code's host has the same data about a device as the host of `APP_URL`. */
  get #isShared(): boolean {
    const { application, container } = this.#dependencies;
    const { hostname } = new URL(application.linkOrigin.requested ?? application.url);
    return container.make("auth").guesses.devices?.isSharedWith(hostname) ?? false;
  }

  get #throttle(): Throttle | null {
    const { container } = this.#dependencies;
    return container.has("throttle") ? container.make("throttle") : null;
  }

  /** Finds out whether the token of a link can still let a device in; see `Accounts.findDeviceLink`. */
  async find(context: HttpContext, token: unknown): Promise<UsableDeviceLink | null> {
    const found = await this.#find(context, token);
    if (found === null) return null;
    const { allowed } = await this.#dependencies.container.make("throttle").peek(DEVICE_LINK_LIMIT, found.use);
    return allowed ? { email: found.user.email!, isKnown: await this.#isKnown(context, found) } : null;
  }

  /** See `Accounts.allowDevice`. */
  async allow(context: HttpContext, token: unknown): Promise<boolean> {
    const found = await this.#find(context, token);
    if (found === null) return false;
    const throttle = this.#dependencies.container.make("throttle");
    const { guard, user, use } = found;
    if (!(await throttle.peek(DEVICE_LINK_LIMIT, use)).allowed) return this.#allowAgain(context, found);
    // The link stays valid for the device that needs it.
    if (await this.#isKnown(context, found)) return true;
    // A single count, in the store that all processes share, decides between parallel uses.
    if (!(await throttle.consume(DEVICE_LINK_LIMIT, use)).allowed) return this.#allowAgain(context, found);
    await throttle.consume(DEVICE_LINK_AGAIN_LIMIT, usedBy(context, use));
    context.auth.registry.guesses.allowDevice(context, guard, user, use.account);
    announce(context, "auth.device_allowed", guard, { user });
    return true;
  }

  /**
   * Lets a client in that has just used the link: after a double click, the browser discards the first response and its
   * cookie. Another request may still be using the link, so this waits for it.
   *
   * Security: both responses make the same device known, so the link doesn't allow additional guesses.
   */
  async #allowAgain(context: HttpContext, { guard, user, use }: FoundLink): Promise<boolean> {
    const throttle = this.#dependencies.container.make("throttle");
    for (let look = 0; look < LOOKS; look++) {
      if (look > 0) await setTimeout(LOOK_PAUSE_MS);
      if ((await throttle.peek(DEVICE_LINK_AGAIN_LIMIT, usedBy(context, use))).allowed) continue;
      context.auth.registry.guesses.allowDevice(context, guard, user, use.account);
      return true;
    }
    return false;
  }

  /**
   * Reports whether a request doesn't need the link: the account's user is logged in, or the account knows the device
   * and it may log in now. Someone with a stolen copy of its cookie may have used up its attempts.
   */
  async #isKnown(context: HttpContext, { guard, user }: FoundLink): Promise<boolean> {
    if (await isLoggedInAs(context, guard, user)) return true;
    const { container } = this.#dependencies;
    const registry = container.make("auth");
    const [account, model] = [registry.guesses.remembered(guard, user), registry.modelOf(guard)];
    if (account === null || model === null || registry.guesses.devices === null) return false;
    const proof = registry.guesses.devices.currentOf(context, account);
    if (proof === null) return false;
    const throttle = container.make("throttle");
    const realm = registry.realmOf(guard);
    for (const identifier of identifiersOf(user, model)) {
      const device = registry.guesses.devices.deviceOf(context, accountName(realm, identifier));
      const limits = [[ACCOUNT_LIMIT, proof] as const, [PASSWORD_LIMIT, device?.id ?? null] as const];
      for (const [limit, own] of limits) {
        if (!(await throttle.peek(limit, { realm, account: identifier, proof: own })).allowed) return false;
      }
    }
    return true;
  }

  async #find(context: HttpContext, token: unknown): Promise<FoundLink | null> {
    const { users, pages, links, container } = this.#dependencies;
    const claim = links.readDevice(token);
    // A link that was created for another guard's page is not valid here.
    if (claim === null || !pages.isShared(PAGE, claim.guard, context.auth.guardName)) return null;
    if (!container.has("throttle")) return null;
    const user = (await users.named(claim.guard)?.findByAuthId(claim.id)) ?? null;
    if (user === null || String(user.authId()) !== claim.id || epochDigestOf(user) !== claim.epoch) return null;
    return { guard: claim.guard, user, use: { realm: "device links", account: digest(token as string) } };
  }
}

/** A link with a valid token, whether or not it has been used. */
interface FoundLink {
  readonly guard: string;
  readonly user: AccountUser;
  readonly use: LinkUse;
}

/** The key under which a link's use is counted. */
interface LinkUse {
  readonly realm: string;
  readonly account: string;
}

/** A link's use by the request's client. */
function usedBy({ request }: HttpContext, { realm, account }: LinkUse): LinkUse {
  const client = [request.clientAddress ?? "", request.header("user-agent") ?? ""];
  return { realm, account: digest([account, ...client].join("\0")) };
}

/** Reports whether the request's visitor is logged in as a user of a guard, with any guard of the same users. */
async function isLoggedInAs({ auth }: HttpContext, guard: string, user: Authenticatable): Promise<boolean> {
  const { registry } = auth;
  const rows = registry.rowsOf(guard);
  for (const name of registry.names) {
    if (registry.rowsOf(name) !== rows) continue;
    const other = auth.guardNamed(name);
    if (name !== auth.guardName && !other.keepsLogins) continue;
    const current = (await other.user()) as Authenticatable | null;
    if (current !== null && String(current.authId()) === String(user.authId())) return true;
  }
  return false;
}

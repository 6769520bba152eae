import type { Application } from "../../boot/index.ts";
import type { Connection, Database } from "../../database/index.ts";
import type { HttpRequest, QueryParameters, RouteParameters } from "../../http/index.ts";
import type { Background, Container } from "../../kernel/index.ts";
import type { Mailer } from "../../mail/index.ts";
import { ConfigurationError, currentDate } from "../../support/index.ts";
import type { GuardPages } from "../guard-pages.ts";
import type { LoginStores } from "../logins/login-stores.ts";
import { authSettingsOf, type CompleteAuthSettings } from "../settings.ts";
import { isModel, isUserOf, keepsSameRows } from "../users-of.ts";
import { AccountLinks, epochDigestOf } from "./account-links.ts";
import { AccountMails } from "./account-mails.ts";
import { type AccountModel, type AccountUser, asAccountModel } from "./account-user.ts";
import { EmailChanges } from "./email-changes.ts";
import type {} from "./events.ts";
import { PasswordResets } from "./password-resets.ts";
import type { RemainingTokens, RemainingTokensOf } from "./remaining-tokens.ts";
import type { CompleteAccountsSettings } from "./settings.ts";

declare module "../../kernel/container.ts" {
  interface FrameworkServices {
    /** What the accounts of the application have in common. */
    accounts: AccountService;
  }
}

/** The table of a guard's users. */
export interface UserTable {
  readonly connection: Connection;
  readonly table: string;
  readonly primaryKey: string;
}

/** What the accounts of an application have in common: the container's `accounts`. One request's are `context.accounts`. */
export class AccountService {
  readonly settings: CompleteAccountsSettings;
  readonly links: AccountLinks;
  readonly mails: AccountMails;
  readonly #application: Application;
  readonly #auth: CompleteAuthSettings;
  #resets: PasswordResets | null = null;
  #emailChanges: EmailChanges | null = null;
  #remainingTokensOf: RemainingTokensOf = () => null;

  /** @throws `E_INVALID_CONFIGURATION`, `E_INVALID_MODEL` where `config/auth.ts` cannot work */
  constructor(application: Application) {
    const { config, container, settings } = application;
    this.#application = application;
    this.#auth = authSettingsOf(config);
    this.settings = this.#auth.accounts;
    const rotation = { previousSecrets: settings.previousKeys };
    this.links = new AccountLinks(settings.key, this.settings, rotation);
    const { mailables } = this.settings;
    const remainingTokensOf = (model: object) => this.remainingTokensOf(model);
    this.mails = new AccountMails(container, mailables, remainingTokensOf, (guard) => this.newPasswordUrl(guard));
  }

  /** How long a password reset can be used, in minutes; `null`: for ever. */
  get resetExpiresInMinutes(): number | null {
    return this.#auth.passwordResetExpirationInMinutes;
  }

  /** Has the API, which comes after accounts, tell which of its tokens outlive what ends a user's access. */
  tellRemainingTokensBy(remainingTokensOf: RemainingTokensOf): void {
    this.#remainingTokensOf = remainingTokensOf;
  }

  /** The API tokens that the users of a model keep when their access ends; `null`: none. */
  remainingTokensOf(model: object): RemainingTokens | null {
    return this.#remainingTokensOf(model);
  }

  /** Does jobs after the answer: what they do depends on whether an address has an account. */
  get background(): Background {
    return this.#application.background;
  }

  /** The application's services. */
  get container(): Container {
    return this.#application.container;
  }

  /** The application's database. */
  get database(): Database {
    return this.#application.container.make("database");
  }

  /** The table of password resets. */
  get resets(): PasswordResets {
    this.#resets ??= new PasswordResets(this.database, this.#auth.passwordResetTable, this.resetExpiresInMinutes);
    return this.#resets;
  }

  /** The table of changes of address that can be undone. */
  get emailChanges(): EmailChanges {
    this.#emailChanges ??= new EmailChanges(this.database);
    return this.#emailChanges;
  }

  /** The names of the guards of the configuration. */
  get guardNames(): readonly string[] {
    return [...this.#auth.guards.keys()];
  }

  /** The models of the guards, as far as these name one. */
  get models(): readonly object[] {
    return [...this.#auth.guards.values()].flatMap(({ model }) => (model === null ? [] : [model]));
  }

  /**
   * The model of a guard.
   *
   * @throws `E_INVALID_CONFIGURATION` where the guard names none; `E_INVALID_MODEL` where it cannot have accounts
   */
  modelOf(guard: string): AccountModel {
    const model = this.#auth.guards.get(guard)?.model ?? null;
    if (model !== null) return asAccountModel(model, `The model of the guard "${guard}"`);
    const remedy = `Name the class of the users: ${guard}: { model: User }.`;
    throw new ConfigurationError(`config/auth.ts: GUARDS.${guard}`, "its users cannot have accounts.", remedy);
  }

  /** The model of a guard that a link names; `null` where there is no such guard any more. */
  modelNamed(guard: string): AccountModel | null {
    return this.#auth.guards.has(guard) ? this.modelOf(guard) : null;
  }

  /**
   * The guards that a user can be logged in by with a session: those whose models have the user's table, be it by
   * another class. What ends access to a row must not leave it open by another name.
   */
  loginGuardsOf(user: AccountUser): readonly string[] {
    return this.guardsKeeping(user.constructor).filter((name) => this.keepsLogins(name));
  }

  /** The guards whose users are the rows of a model's table, whatever their class. */
  guardsKeeping(model: object): readonly string[] {
    const { default: connection } = this.database.settings;
    return [...this.#auth.guards].flatMap(([name, { model: other }]) =>
      other !== null && keepsSameRows(model, other, connection) ? [name] : [],
    );
  }

  /** Where the users of a guard are; `null` if there is no such guard, or its users are not rows of a model. */
  usersOf(guard: string): UserTable | null {
    const model: object | null = this.#auth.guards.get(guard)?.model ?? null;
    if (model === null || !isModel(model)) return null;
    const connection = this.database.connection(model.connection ?? undefined);
    return { connection, table: model.table, primaryKey: model.primaryKey };
  }

  /** As {@link usersOf}, for one statement that is also about a table of auth: `null` on another connection as well. */
  usersBesideAuth(guard: string): UserTable | null {
    const users = this.usersOf(guard);
    return users?.connection === this.database.connection() ? users : null;
  }

  /** Tells whether a guard of the application keeps logins. */
  get hasLogins(): boolean {
    return this.logins.all.length > 0;
  }

  /** Tells whether a guard keeps logins. */
  keepsLogins(guard: string): boolean {
    return this.logins.has(guard);
  }

  /** Where the logins of each guard are kept. */
  get logins(): LoginStores {
    return this.container.make("logins");
  }

  /** Where the pages of each guard are. */
  get pages(): GuardPages {
    return this.#application.container.make("auth").pages;
  }

  /** The page where a guard's users ask for a new password; `null` if it has none. */
  newPasswordUrl(guard: string): string | null {
    return this.pages.has(guard, "change_password") ? this.url(guard, "change_password", {}) : null;
  }

  /**
   * The URL of a guard's page, under the origin of `APP_URL`.
   *
   * Security: never under the host of a request, whose sender chooses it: a reset link that leads to somebody else's
   * host hands them the account.
   *
   * @throws `E_UNKNOWN_ROUTE`
   */
  url(guard: string, page: string, parameters: RouteParameters, query: QueryParameters = {}): string {
    const { url: origin } = this.#application;
    const url = this.pages.to(guard, page, parameters, query);
    // A route with a domain has a URL of its own.
    return url.startsWith("/") ? origin + url : url;
  }

  /** Mails a user a link that verifies the address; what `user.verifyEmail(mail, request)` does. */
  async mailVerification(user: AccountUser, mail: Mailer, request: HttpRequest): Promise<void> {
    const guard = this.#guardOf(user, request);
    const { email } = user;
    const url = this.verificationUrl(guard, user, null);
    const expiresInMinutes = this.settings.verificationExpiresMinutes;
    await this.mails.prepare();
    const language = request.language();
    const data = { guard, language, user, email, isChange: false, url, expiresInMinutes };
    this.mails.queue("verifyEmail", email, data, mail);
    const { container } = this.#application;
    if (!container.has("events")) return;
    const event = { time: currentDate(), address: request.clientAddress, guard, user, email };
    void container.make("events").emit("auth.verification_sent", event);
  }

  /** The link that verifies a user's address, or puts a new one in its place. */
  verificationUrl(guard: string, user: AccountUser, newEmail: string | null): string {
    const claim = { guard, id: String(user.authId()), epoch: epochDigestOf(user), email: user.email, newEmail };
    return this.url(guard, "email.verify", { token: this.links.verification(claim) });
  }

  /** Of the guards that have the user: the request's active one, otherwise the default guard, otherwise the first. */
  #guardOf(user: AccountUser, request: HttpRequest): string {
    const guards = this.#guardsOf(user);
    const wanted = [request.context.auth.guardName, this.#auth.defaultGuard];
    const guard = wanted.find((name) => name !== null && guards.includes(name)) ?? guards[0];
    if (guard !== undefined) return guard;
    const problem = `no guard has users of the class ${user.constructor.name}.`;
    throw new ConfigurationError("config/auth.ts: GUARDS", problem, "Write web: { model: User }.");
  }

  #guardsOf(user: AccountUser): readonly string[] {
    const guards = [...this.#auth.guards];
    return guards.flatMap(([name, { model }]) => (model !== null && isUserOf(user, model) ? [name] : []));
  }
}

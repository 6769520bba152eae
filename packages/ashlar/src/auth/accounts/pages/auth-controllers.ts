import type { HttpContext } from "../../../http/index.ts";
import type { ControllerClass } from "../../../routing/index.ts";

/** Logging in and out. */
export interface LoginController {
  /** `GET /login`: the form, with `email`, `password` and `remember`. */
  show(context: HttpContext): unknown;
  /** `POST /login`. */
  store(context: HttpContext): unknown;
  /** `POST /logout`; also reached by guests. */
  destroy(context: HttpContext): unknown;
}

/** The page after a login. */
export interface HomeController {
  /** `GET /home`, for users. */
  show(context: HttpContext): unknown;
}

/** Creating an account. */
export interface RegisterController {
  /** `GET /register`: the form, with `name`, `email`, `password` and `password_confirmation`. */
  show(context: HttpContext): unknown;
  /** `POST /register`. */
  store(context: HttpContext): unknown;
}

/** Requesting a link that sets a new password. */
export interface RequestPasswordResetController {
  /** `GET /change_password`: the form, with `email`. */
  show(context: HttpContext): unknown;
  /** `POST /change_password`. */
  store(context: HttpContext): unknown;
}

/** Setting a new password with such a link. */
export interface ResetPasswordController {
  /**
   * `GET /password_reset?token=…`: the form, with `token`, `password` and `password_confirmation`; if the link can no
   * longer be used, a page that says so.
   */
  show(context: HttpContext): unknown;
  /** `POST /password_reset`. */
  store(context: HttpContext): unknown;
}

/** Verifying an address. */
export interface VerifyEmailController {
  /** `GET /email/verify/notice`: asks to check the inbox; also reached by guests, after a link that is not valid. */
  notice(context: HttpContext): unknown;
  /**
   * `GET /email/verify/@token`: the link from a mail, for the first address or for a new one. Unless the link's user is
   * logged in, it shows a page with one button and changes nothing, since some mail programs follow every link.
   */
  verify(context: HttpContext): unknown;
  /** `POST /email/verify/@token`: handles that button. */
  store(context: HttpContext): unknown;
  /** `POST /email/resend`, for users. */
  resend(context: HttpContext): unknown;
}

/** The devices that the user is logged in on. */
export interface LoginsController {
  /** `GET /logins`, for users. */
  index(context: HttpContext): unknown;
  /** `DELETE /logins/@id`, for users: ends one login. */
  destroy(context: HttpContext): unknown;
  /** `DELETE /logins`, for users: ends all logins except the current one. */
  destroyOthers(context: HttpContext): unknown;
}

/** What protects the user's account, and what has happened to it. */
export interface SecurityController {
  /** `GET /account/security`, for users. */
  show(context: HttpContext): unknown;
}

/** Asking for the password again, for the middleware `password.confirm`. */
export interface ConfirmPasswordController {
  /** `GET /confirm_password`, for users: the form, with `password`. */
  show(context: HttpContext): unknown;
  /** `POST /confirm_password`, for users. */
  store(context: HttpContext): unknown;
}

/** Changes the password of a logged-in user. */
export interface ChangePasswordController {
  /** `GET /account/password`, for users: the form, with `current_password`, `password` and `password_confirmation`. */
  show(context: HttpContext): unknown;
  /** `POST /account/password`, for users. */
  store(context: HttpContext): unknown;
}

/** Changes the address of a logged-in user. */
export interface ChangeEmailController {
  /** `GET /account/email`, for users: the form, with `email` and `password`. */
  show(context: HttpContext): unknown;
  /** `POST /account/email`, for users. */
  store(context: HttpContext): unknown;
}

/** Closing the account of a user who is logged in. */
export interface CloseAccountController {
  /** `GET /account/close`, for users who have just confirmed who they are: a page with one button. */
  show(context: HttpContext): unknown;
  /** `POST /account/close`, likewise. */
  store(context: HttpContext): unknown;
}

/** Undoing a change of address with the link that was mailed to the old address. */
export interface UndoEmailChangeController {
  /** `GET /email/undo/@token`: a page with one button; it changes nothing, since some mail programs follow every link. */
  show(context: HttpContext): unknown;
  /** `POST /email/undo/@token`. */
  store(context: HttpContext): unknown;
}

/** Making a device known, with the link that is mailed after strangers have guessed too often. */
export interface AllowDeviceController {
  /** `GET /login/device/@token`: a page with one button; it changes nothing, since some mail programs follow every link. */
  show(context: HttpContext): unknown;
  /** `POST /login/device/@token`. */
  store(context: HttpContext): unknown;
}

/** The application's classes that handle the routes of `Auth.routes`. */
export interface AuthControllers {
  readonly login: ControllerClass<LoginController>;
  readonly home: ControllerClass<HomeController>;
  readonly register: ControllerClass<RegisterController>;
  readonly requestPasswordReset: ControllerClass<RequestPasswordResetController>;
  readonly resetPassword: ControllerClass<ResetPasswordController>;
  readonly verifyEmail: ControllerClass<VerifyEmailController>;
  readonly logins: ControllerClass<LoginsController>;
  readonly confirmPassword: ControllerClass<ConfirmPasswordController>;
  readonly changePassword: ControllerClass<ChangePasswordController>;
  readonly changeEmail: ControllerClass<ChangeEmailController>;
  readonly undoEmailChange: ControllerClass<UndoEmailChangeController>;
  /** Optional: without it, mails about guesses have no link. */
  readonly allowDevice?: ControllerClass<AllowDeviceController>;
  /** Optional: applications of earlier versions don't have it. */
  readonly security?: ControllerClass<SecurityController>;
  /** Optional, likewise: without it, users can't close their accounts. */
  readonly closeAccount?: ControllerClass<CloseAccountController>;
}

/** A group of routes that `Auth.routes` creates, and can omit. */
export type AuthRouteGroup = keyof AuthControllers;

/** The methods that show a form: pages, which API clients don't need. */
interface AuthForms {
  readonly login: "show";
  readonly register: "show";
  readonly requestPasswordReset: "show";
  readonly verifyEmail: "notice";
  readonly confirmPassword: "show";
  readonly changePassword: "show";
  readonly changeEmail: "show";
  readonly closeAccount: "show";
}

/**
 * The methods that a group's routes call on its controller:
 *
 * ```ts
 * class HomeController implements AuthController<"home"> {
 *   show({ view }: HttpContext) {
 *     return view.render("home");
 *   }
 * }
 * ```
 *
 * Without pages, `Auth.routes(controllers, { json: true })`, it is `AuthController<"login", "json">`, without the methods
 * that show forms.
 */
export type AuthController<Group extends AuthRouteGroup, Kind extends "pages" | "json" = "pages"> = Kind extends "json"
  ? Omit<InstanceType<Required<AuthControllers>[Group]>, Group extends keyof AuthForms ? AuthForms[Group] : never>
  : InstanceType<Required<AuthControllers>[Group]>;

/** The application's classes that handle the routes of `Auth.routes` with the option `json`. */
export type JsonAuthControllers = {
  readonly [Group in keyof AuthControllers]: ControllerClass<AuthController<Group, "json">>;
};

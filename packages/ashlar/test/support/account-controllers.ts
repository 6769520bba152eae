import type { AuthControllers } from "../../src/auth/index.ts";
import type { HttpContext, HttpResponse } from "../../src/http/index.ts";
import type {} from "../../src/session/index.ts";

/** The smallest controllers that do what those of an application do. */

class LoginController {
  show(): string {
    return "the login form";
  }

  async store({ auth, request }: HttpContext): Promise<HttpResponse> {
    const { email, password } = request.all();
    const user = await auth.attempt(email, password);
    return user === null ? auth.redirectToRoute("login") : auth.redirectToIntended("home");
  }

  async destroy({ auth }: HttpContext): Promise<HttpResponse> {
    await auth.logout();
    return auth.redirectToRoute("login");
  }
}

class HomeController {
  show(): string {
    return "home";
  }
}

class RegisterController {
  show(): string {
    return "the registration form";
  }

  async store({ accounts, auth, request, response }: HttpContext): Promise<HttpResponse> {
    const { name, email, password, password_confirmation } = request.all();
    const user = await accounts.register({ name, email, password, password_confirmation });
    await auth.loginAs(user, { firstLogin: true });
    return response.redirect((await accounts.sendVerification()) ? "/email/verify/notice" : "/home");
  }
}

class ForgotPasswordController {
  show(): string {
    return "the form for a forgotten password";
  }

  async store({ accounts, request, response }: HttpContext): Promise<HttpResponse> {
    await accounts.requestPasswordReset(request.input("email"));
    return response.redirect("/change_password?sent=1");
  }
}

class ResetPasswordController {
  show(): string {
    return "the form for a new password";
  }

  async store({ accounts, request, response }: HttpContext): Promise<HttpResponse> {
    const { token, password, password_confirmation: confirmation } = request.all();
    const user = await accounts.resetPassword(token, password, confirmation);
    return response.redirect(user === null ? "/change_password?expired=1" : "/login");
  }
}

class VerifyEmailController {
  notice({ request }: HttpContext): string {
    return request.input("error") === null ? "check the inbox" : "the link is not valid";
  }

  async verify({ accounts, request, response }: HttpContext): Promise<string | HttpResponse> {
    const outcome = await accounts.verifyEmail(request.param("token"));
    return outcome === "invalid" ? response.redirect("/email/verify/notice?error=1") : outcome;
  }

  async resend({ accounts, response }: HttpContext): Promise<HttpResponse> {
    const isSent = await accounts.sendVerification();
    return response.redirect(isSent ? "/email/verify/notice" : "/home");
  }
}

class SessionsController {
  async index({ auth }: HttpContext): Promise<unknown> {
    return auth.sessions().list();
  }

  async destroy({ auth, request, response }: HttpContext): Promise<HttpResponse> {
    await auth.sessions().end(request.param("id"));
    return response.redirect("/sessions");
  }

  async destroyOthers({ auth, response }: HttpContext): Promise<HttpResponse> {
    await auth.sessions().endOthers();
    return response.redirect("/sessions");
  }
}

class ConfirmPasswordController {
  show(): string {
    return "the form that asks for the password";
  }

  async store({ auth, request }: HttpContext): Promise<HttpResponse> {
    const isConfirmed = await auth.confirmPassword(request.input("password"));
    return isConfirmed ? auth.redirectToIntended("home") : auth.redirectToRoute("confirm_password");
  }
}

class ChangePasswordController {
  show(): string {
    return "the form for another password";
  }

  async store({ accounts, request, response }: HttpContext): Promise<HttpResponse> {
    const { current_password: current, password, password_confirmation: confirmation } = request.all();
    await accounts.changePassword(current, password, confirmation);
    return response.redirect("/account/password?changed=1");
  }
}

class ChangeEmailController {
  show(): string {
    return "the form for another address";
  }

  async store({ accounts, request, response }: HttpContext): Promise<HttpResponse> {
    await accounts.requestEmailChange(request.input("email"), request.input("password"));
    return response.redirect("/account/email?sent=1");
  }
}

class UndoEmailChangeController {
  async show({ accounts, request }: HttpContext): Promise<string> {
    return (await accounts.findEmailChange(request.param("token")))?.email ?? "nothing to undo";
  }

  async store({ accounts, request, response }: HttpContext): Promise<string | HttpResponse> {
    const undo = await accounts.undoEmailChange(request.param("token"));
    if (undo.outcome !== "undone") return undo.outcome;
    return response.redirect(`/password_reset?token=${undo.resetToken}`);
  }
}

export const ACCOUNT_CONTROLLERS: AuthControllers = {
  login: LoginController,
  home: HomeController,
  register: RegisterController,
  forgotPassword: ForgotPasswordController,
  resetPassword: ResetPasswordController,
  verifyEmail: VerifyEmailController,
  sessions: SessionsController,
  confirmPassword: ConfirmPasswordController,
  changePassword: ChangePasswordController,
  changeEmail: ChangeEmailController,
  undoEmailChange: UndoEmailChangeController,
};

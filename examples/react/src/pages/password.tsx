import type { PageProps } from "../app.tsx";
import { client } from "../client.ts";
import { Form, type Inputs, NEW_PASSWORD } from "../form.tsx";

export function ForgotPasswordPage() {
  async function send({ email = "" }: Inputs): Promise<string> {
    return (await client.requestPasswordReset(email)).message;
  }

  return (
    <section>
      <h1>Forgot your password?</h1>
      <p>We send you a link to choose a new one.</p>
      <Form
        fields={[{ name: "email", label: "Email address", type: "email", autoComplete: "username" }]}
        action="Send the link"
        send={send}
      />
      <p className="links">
        <a href="/login">Back to the login</a>
      </p>
    </section>
  );
}

/** Where the link in the mail leads. */
export function ResetPasswordPage({ go }: PageProps) {
  const token = new URLSearchParams(location.search).get("token") ?? "";

  async function send(inputs: Inputs): Promise<undefined> {
    const { password = "" } = inputs;
    await client.resetPassword({ ...inputs, password, token });
    await go("/login");
  }

  return (
    <section>
      <h1>Choose a new password</h1>
      <Form fields={NEW_PASSWORD} action="Set password" send={send} />
    </section>
  );
}

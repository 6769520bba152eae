import { useEffect, useState } from "react";
import { client, sentenceFor } from "../client.ts";
import { Form, type Inputs, NEW_PASSWORD } from "../form.tsx";

export function ForgotPasswordPage() {
  async function send({ email = "" }: Inputs): Promise<string> {
    return (await client.requestPasswordReset(email)).message;
  }

  return (
    <section>
      <h1>Forgot your password?</h1>
      <p>We'll send you a link to choose a new one.</p>
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

/** Where the link in the mail leads. The page asks for no password if the link no longer works. */
export function ResetPasswordPage() {
  const [isValid, setValid] = useState(false);
  const [problem, setProblem] = useState<string>();
  const [done, setDone] = useState<string>();
  const token = new URLSearchParams(location.search).get("token") ?? "";

  useEffect(() => {
    client.checkPasswordReset(token).then(
      () => setValid(true),
      (error) => setProblem(sentenceFor(error)),
    );
  }, [token]);

  async function send(inputs: Inputs): Promise<undefined> {
    const { password = "" } = inputs;
    setDone((await client.resetPassword({ ...inputs, password, token })).message);
  }

  return (
    <section>
      <h1>Choose a new password</h1>
      {problem !== undefined && (
        <p className="wrong" role="alert">
          {problem}
        </p>
      )}
      {isValid && done === undefined && <Form fields={NEW_PASSWORD} action="Set password" send={send} />}
      {done !== undefined && (
        <p className="good" role="status">
          {done}
        </p>
      )}
      <p className="links">
        {done === undefined ? <a href="/change_password">Send another link</a> : <a href="/login">Log in</a>}
      </p>
    </section>
  );
}

import type { PageProps } from "../app.tsx";
import { client } from "../client.ts";
import { type Field, Form, type Inputs } from "../form.tsx";

const EMAIL: Field = { name: "email", label: "Email address", type: "email", autoComplete: "username" };

export function LoginPage({ go }: PageProps) {
  async function send({ email = "", password = "" }: Inputs): Promise<string | undefined> {
    const answer = await client.login({ email, password });
    // A shop with a second factor asks for it here, and sends it to the step's own route.
    if (answer.status === "pending") return `One more step is needed: ${answer.step}.`;
    await go("/");
    return undefined;
  }

  return (
    <section>
      <h1>Log in</h1>
      <Form
        fields={[EMAIL, { name: "password", label: "Password", type: "password", autoComplete: "current-password" }]}
        action="Log in"
        send={send}
      />
      <p className="links">
        <a href="/register">Create an account</a>
        <a href="/change_password">Forgot your password?</a>
      </p>
    </section>
  );
}

export function RegisterPage({ go }: PageProps) {
  async function send(inputs: Inputs): Promise<string | undefined> {
    const { email = "", password = "" } = inputs;
    const answer = await client.register({ ...inputs, email, password });
    if (answer.status === "mailed") return answer.message;
    await go("/");
    return undefined;
  }

  return (
    <section>
      <h1>Create an account</h1>
      <Form
        fields={[
          { name: "name", label: "Name", autoComplete: "name" },
          EMAIL,
          { name: "password", label: "Password", type: "password", autoComplete: "new-password" },
        ]}
        action="Create account"
        send={send}
      />
      <p className="links">
        <a href="/login">Log in instead</a>
      </p>
    </section>
  );
}

import vue from "@vitejs/plugin-vue";
import { defineConfig } from "vite";

// The API has this origin in TRUSTED_ORIGINS: another port would be another origin.
export default defineConfig({ plugins: [vue()], server: { port: 5173, strictPort: true } });

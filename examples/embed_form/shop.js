import { connectSurface } from "HOST/v1/host/weftwork/weftwork-surface.js";

// The backend starts the run. The page gets the address of one form, and no API key.
const response = await fetch("/bookings", { method: "POST" });
const { form } = await response.json();

connectSurface(document.getElementById("form"), {
  url: form,
  origin: "Harbour Hotel",
  onAnswered: () => {
    document.getElementById("thanks").hidden = false;
  },
});

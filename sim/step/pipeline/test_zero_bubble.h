// Published times of passes and the bubbles of 1F1B that follow from them: the zero-bubble paper, arXiv:2401.10241.
#pragma once

namespace foretoken::step {

/// Times in ms of Table 9 (T_F, T_B, T_W and T_comm), and bubbles of the longest stage of Table 5. Interleaving has
/// `chunks` chunks a stage.
struct ZeroBubbleRow {
  int stages, microbatches;
  double forward, input_gradient, weight_gradient, message, bubble, zb_h1, zb_h2;
  int chunks;
  double interleaved;

  [[nodiscard]] constexpr double backward() const { return input_gradient + weight_gradient; }
};
inline constexpr ZeroBubbleRow kZeroBubble[] = {
    {8, 24, 18.522, 18.086, 9.337, 0.601, 0.2431, 0.1585, 0.1083, 3, 0.1055},
    {8, 32, 18.513, 18.086, 9.331, 0.626, 0.1985, 0.1242, 0.0837, 3, 0.0818},
    {8, 64, 18.546, 18.097, 9.321, 0.762, 0.124, 0.0674, 0.0444, 3, 0.0443},
    {8, 24, 29.718, 29.444, 19.927, 0.527, 0.2347, 0.1323, 0.0698, 4, 0.0808},
    {8, 32, 29.802, 29.428, 19.53, 0.577, 0.1898, 0.1045, 0.0559, 4, 0.0628},
    {8, 64, 29.935, 29.621, 19.388, 0.535, 0.1091, 0.0554, 0.0294, 4, 0.032},
    {16, 48, 11.347, 11.248, 8.132, 0.377, 0.2552, 0.1397, 0.0672, 3, 0.1104},
    {16, 64, 11.307, 11.254, 8.101, 0.379, 0.2082, 0.1088, 0.0516, 3, 0.0852},
    {16, 128, 11.325, 11.308, 8.109, 0.378, 0.1251, 0.0576, 0.0266, 3, 0.0445},
    {32, 96, 10.419, 10.207, 7.715, 0.408, 0.2646, 0.1421, 0.0641, 2, 0.1493},
    {32, 128, 10.408, 10.204, 7.703, 0.408, 0.2168, 0.1106, 0.049, 2, 0.1164},
    {32, 256, 10.402, 10.248, 7.698, 0.46, 0.1352, 0.0594, 0.0257, 2, 0.0624}};

}  // namespace foretoken::step
